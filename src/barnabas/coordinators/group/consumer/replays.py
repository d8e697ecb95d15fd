"""Replays records of consumer groups. Tombstones of unknown keys are valid, because a compacted log
may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.consumer import records
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup, ResolvedPattern
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.consumer_group_current_member_assignment import ConsumerGroupCurrentMemberAssignmentKey
from barnabas.wire.coordinator_records.consumer_group_member_metadata import ConsumerGroupMemberMetadataKey
from barnabas.wire.coordinator_records.consumer_group_metadata import ConsumerGroupMetadataKey
from barnabas.wire.coordinator_records.consumer_group_partition_metadata import ConsumerGroupPartitionMetadataKey
from barnabas.wire.coordinator_records.consumer_group_regular_expression import ConsumerGroupRegularExpressionKey
from barnabas.wire.coordinator_records.consumer_group_target_assignment_member import ConsumerGroupTargetAssignmentMemberKey
from barnabas.wire.coordinator_records.consumer_group_target_assignment_metadata import ConsumerGroupTargetAssignmentMetadataKey

_NO_TARGET_EPOCH = -1


class Replays:
    def __init__(self, groups: dict[str, Group], forget_timers: Callable[[str, str], None]) -> None:
        """``forget_timers(group_id, member_id)`` is called for a removed member."""
        self._groups = groups
        self._forget_timers = forget_timers
        self.by_key: dict[type[Any], Callable[[CoordinatorRecord], None]] = {
            ConsumerGroupMetadataKey: self._group,
            ConsumerGroupPartitionMetadataKey: self._legacy_metadata,
            ConsumerGroupMemberMetadataKey: self._subscription,
            ConsumerGroupTargetAssignmentMetadataKey: self._target_epoch,
            ConsumerGroupTargetAssignmentMemberKey: self._target,
            ConsumerGroupCurrentMemberAssignmentKey: self._ownership,
            ConsumerGroupRegularExpressionKey: self._pattern,
        }

    def _known(self, group_id: str) -> ConsumerGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def _made(self, group_id: str) -> ConsumerGroup:
        group = self._known(group_id)
        if group is None:
            # A previous group of this id was empty: its tombstone precedes in the log, or it had no
            # record at all.
            group = self._groups[group_id] = ConsumerGroup(group_id)
        return group

    def _group(self, record: CoordinatorRecord) -> None:
        group_id = record.key.group_id
        if record.value is not None:
            group = self._made(group_id)
            group.epoch = record.value.epoch
            group.metadata_hash = record.value.metadata_hash
        elif self._known(group_id) is not None:
            del self._groups[group_id]

    def _legacy_metadata(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            self._made(record.key.group_id).legacy_metadata = True
        elif (group := self._known(record.key.group_id)) is not None:
            group.legacy_metadata = False

    def _subscription(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._made(key.group_id).take_subscription(key.member_id, records.subscription_from(record.value))
        elif (group := self._known(key.group_id)) is not None:
            group.forget_member(key.member_id)
            self._forget_timers(key.group_id, key.member_id)

    def _target_epoch(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            group = self._made(record.key.group_id)
            group.target_epoch = record.value.assignment_epoch
            group.target_timestamp_ms = record.value.assignment_timestamp
        elif (known := self._known(record.key.group_id)) is not None:
            known.target_epoch = _NO_TARGET_EPOCH

    def _target(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._made(key.group_id).targets[key.member_id] = records.target_from(record.value)
        elif (group := self._known(key.group_id)) is not None:
            group.targets.pop(key.member_id, None)

    def _ownership(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._made(key.group_id).take_ownership(key.member_id, records.ownership_from(record.value))
        elif (group := self._known(key.group_id)) is not None:
            group.forget_ownership(key.member_id)

    def _pattern(self, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        if value is not None:
            resolved = ResolvedPattern(frozenset(value.topics), value.version, value.timestamp)
            self._made(key.group_id).patterns[key.regular_expression] = resolved
        elif (group := self._known(key.group_id)) is not None:
            group.patterns.pop(key.regular_expression, None)
