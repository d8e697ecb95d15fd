"""The groups of one kind in a shard, and the records that those with targets have in common.

The coordinator computes target assignments for consumer, share and streams groups. Each kind has a
record with the epoch of the target and a record with the target of each member. Tombstones of
unknown keys are valid, because a compacted log may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from barnabas.coordinators.group.group import Group
from barnabas.coordinators.record import CoordinatorRecord

_NO_TARGET_EPOCH = -1


class TargetedGroup(Group, Protocol):
    target_epoch: int
    target_timestamp_ms: int
    targets: dict[str, Any]

    def __init__(self, group_id: str) -> None: ...


G = TypeVar("G", bound=TargetedGroup)


class TargetedGroups(Generic[G]):
    def __init__(self, groups: dict[str, Group], kind: type[G], target_from: Callable[[Any], Any]) -> None:
        """``target_from`` reads the value of a member's target."""
        self._groups = groups
        self._kind = kind
        self._target_from = target_from

    def known(self, group_id: str) -> G | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, self._kind) else None

    def made(self, group_id: str) -> G:
        group = self.known(group_id)
        if group is None:
            # A previous group of this id was empty: its tombstone precedes in the log, or it had no
            # record at all.
            group = self._groups[group_id] = self._kind(group_id)
        return group

    def remove(self, group_id: str) -> bool:
        """False if there is no such group of this kind."""
        if self.known(group_id) is None:
            return False
        del self._groups[group_id]
        return True

    def replay_target_epoch(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            group = self.made(record.key.group_id)
            group.target_epoch = record.value.assignment_epoch
            group.target_timestamp_ms = record.value.assignment_timestamp
        elif (known := self.known(record.key.group_id)) is not None:
            known.target_epoch = _NO_TARGET_EPOCH

    def replay_target(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self.made(key.group_id).targets[key.member_id] = self._target_from(record.value)
        elif (group := self.known(key.group_id)) is not None:
            group.targets.pop(key.member_id, None)
