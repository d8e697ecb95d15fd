"""The sessions of members of share groups: a member that sends no heartbeat in time is removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.outcome import Outcome

_SESSION = "share session"

# ``remove(group, member_id, now_ms)`` removes the member.
Remove = Callable[[ShareGroup, str, int], Outcome[Any]]


class Sessions:
    def __init__(self, shard: GroupShard, remove: Remove) -> None:
        self._shard = shard
        self._remove = remove

    def expect_heartbeat(self, group_id: str, member_id: str, now_ms: int) -> None:
        def expire(now_ms: int) -> Outcome[Any]:
            group = self._shard.groups.get(group_id)
            if not isinstance(group, ShareGroup) or member_id not in group.members:
                return Outcome(None)
            return self._remove(group, member_id, now_ms)

        timeout_ms = self._shard.settings.share.session_timeout_ms.of(self._shard.settings_of(group_id))
        self._shard.timers.set((_SESSION, group_id, member_id), now_ms + timeout_ms, expire)

    def forget(self, group_id: str, member_id: str) -> None:
        self._shard.timers.cancel((_SESSION, group_id, member_id))
