"""The deadlines of streams groups. Timers are named (name, group id, member id).

session       the next heartbeat; the member is removed otherwise
revocation    a member that must revoke tasks has done so; it is removed otherwise
first target  a group that was empty gets its target, after other members had time to join
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.streams.member import MemberState, StreamsMember
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.outcome import Outcome

# These names differ from those of other groups' timers, because a group may change its kind at
# once.
_SESSION, _REVOCATION, _FIRST_TARGET = "streams session", "streams revocation", "streams first target"

_NOTHING: Outcome[Any] = Outcome(None)

# ``remove(group, member_id, now_ms)`` removes the member.
Remove = Callable[[StreamsGroup, str, int], Outcome[Any]]
Assign = Callable[[StreamsGroup, int], Outcome[Any]]


class Deadlines:
    def __init__(self, shard: GroupShard, remove: Remove, assign: Assign) -> None:
        self._shard = shard
        self._remove = remove
        self._assign = assign

    def expect_heartbeat(self, group_id: str, member: StreamsMember, now_ms: int) -> None:
        timeout_ms = self._shard.settings.streams.session_timeout_ms.of(self._shard.settings_of(group_id))
        self._set(_SESSION, group_id, member, now_ms + timeout_ms, lambda _: True)

    def expect_revocation(self, group_id: str, member: StreamsMember, now_ms: int) -> None:
        def overdue(current: StreamsMember) -> bool:
            return current.epoch == member.epoch and current.ownership.state is MemberState.UNREVOKED_TASKS

        self._set(_REVOCATION, group_id, member, now_ms + member.metadata.rebalance_timeout_ms, overdue)

    def revoked(self, group_id: str, member_id: str) -> None:
        self._shard.timers.cancel((_REVOCATION, group_id, member_id))

    def delay_first_target(self, group_id: str, delay_ms: int, now_ms: int) -> None:
        """Later members do not extend the delay."""
        if delay_ms > 0 and not self.first_target_delayed(group_id):
            self._shard.timers.set((_FIRST_TARGET, group_id), now_ms + delay_ms, lambda then_ms: self._first_target(group_id, then_ms))

    def first_target_delayed(self, group_id: str) -> bool:
        return (_FIRST_TARGET, group_id) in self._shard.timers

    def _first_target(self, group_id: str, now_ms: int) -> Outcome[Any]:
        group = self._shard.groups.get(group_id)
        return self._assign(group, now_ms) if isinstance(group, StreamsGroup) and group.members else _NOTHING

    def forget(self, group_id: str, member_id: str) -> None:
        for name in (_SESSION, _REVOCATION):
            self._shard.timers.cancel((name, group_id, member_id))

    def forget_group(self, group_id: str) -> None:
        self._shard.timers.cancel((_FIRST_TARGET, group_id))

    def _set(self, name: str, group_id: str, member: StreamsMember, deadline_ms: int, overdue: Callable[[StreamsMember], bool]) -> None:
        def expire(now_ms: int) -> Outcome[Any]:
            group = self._shard.groups.get(group_id)
            current = group.members.get(member.member_id) if isinstance(group, StreamsGroup) else None
            if current is None or not overdue(current):
                return _NOTHING
            assert isinstance(group, StreamsGroup)
            return self._remove(group, member.member_id, now_ms)

        self._shard.timers.set((name, group_id, member.member_id), deadline_ms, expire)
