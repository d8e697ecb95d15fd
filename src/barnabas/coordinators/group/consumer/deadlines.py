"""The deadlines of members of consumer groups. Timers are named (name, group id, member id), and
each removes the member.

    session      the next heartbeat, of either protocol
    revocation   a member that must revoke partitions has done so
    rejoin       a classic member that was asked to rejoin has done so
    sync         a classic member that rejoined has fetched its assignment
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.group_timings import session_timeout_ms
from barnabas.coordinators.group.consumer.member import ConsumerMember, MemberState
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome

# These names differ from those of classic groups' timers, because a group may change its kind at
# once.
_SESSION, _REVOCATION, _REJOIN, _SYNC = "consumer session", "consumer revocation", "consumer rejoin", "consumer sync"

_NOTHING: Outcome[Any] = Outcome(None)

# ``remove(group, member_id, now_ms)`` removes the member.
Remove = Callable[[ConsumerGroup, str, int], Outcome[Any]]


class Deadlines:
    def __init__(self, shard: GroupShard, remove: Remove) -> None:
        self._shard = shard
        self._remove = remove

    def expect_heartbeat(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        else:
            timeout_ms = session_timeout_ms(self._shard.settings_of(group_id), self._shard.settings)
        self._set(_SESSION, group_id, member, now_ms + timeout_ms)

    def expect_revocation(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        def overdue(current: ConsumerMember) -> bool:
            return current.epoch == member.epoch and current.ownership.state is MemberState.UNREVOKED_PARTITIONS

        self._set(_REVOCATION, group_id, member, now_ms + member.subscription.rebalance_timeout_ms, overdue)

    def revoked(self, group_id: str, member_id: str) -> None:
        self._shard.timers.cancel((_REVOCATION, group_id, member_id))

    def expect_rejoin(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """A repeated request to rejoin does not extend the deadline."""
        if (_REJOIN, group_id, member.member_id) not in self._shard.timers:
            self._set(_REJOIN, group_id, member, now_ms + member.subscription.rebalance_timeout_ms)

    def expect_sync(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        self._shard.timers.cancel((_REJOIN, group_id, member.member_id))
        self._set(_SYNC, group_id, member, now_ms + member.subscription.rebalance_timeout_ms)

    def synced(self, group_id: str, member_id: str) -> None:
        self._shard.timers.cancel((_SYNC, group_id, member_id))

    def forget(self, group_id: str, member_id: str) -> None:
        for name in (_SESSION, _REVOCATION, _REJOIN, _SYNC):
            self._shard.timers.cancel((name, group_id, member_id))

    def _set(
        self,
        name: str,
        group_id: str,
        member: ConsumerMember,
        deadline_ms: int,
        overdue: Callable[[ConsumerMember], bool] = lambda _: True,
    ) -> None:
        def expire(now_ms: int) -> Outcome[Any]:
            group = self._shard.groups.get(group_id)
            current = group.members.get(member.member_id) if isinstance(group, ConsumerGroup) else None
            if current is None or not overdue(current):
                return _NOTHING
            assert isinstance(group, ConsumerGroup)
            return self._remove(group, member.member_id, now_ms)

        self._shard.timers.set((name, group_id, member.member_id), deadline_ms, expire)
