"""Replays records of consumer groups. Tombstones of unknown keys are valid, because a compacted log
may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.consumer import records
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup, ResolvedPattern
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.targeted_groups import TargetedGroups
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.consumer_group_current_member_assignment import ConsumerGroupCurrentMemberAssignmentKey
from barnabas.wire.coordinator_records.consumer_group_member_metadata import ConsumerGroupMemberMetadataKey
from barnabas.wire.coordinator_records.consumer_group_metadata import ConsumerGroupMetadataKey
from barnabas.wire.coordinator_records.consumer_group_partition_metadata import ConsumerGroupPartitionMetadataKey
from barnabas.wire.coordinator_records.consumer_group_regular_expression import ConsumerGroupRegularExpressionKey
from barnabas.wire.coordinator_records.consumer_group_target_assignment_member import ConsumerGroupTargetAssignmentMemberKey
from barnabas.wire.coordinator_records.consumer_group_target_assignment_metadata import ConsumerGroupTargetAssignmentMetadataKey


class Replays:
    def __init__(self, groups: dict[str, Group], forget_timers: Callable[[str, str], None]) -> None:
        """``forget_timers(group_id, member_id)`` is called for a removed member."""
        self._groups = TargetedGroups(groups, ConsumerGroup, records.target_from)
        self._forget_timers = forget_timers
        self.by_key: dict[type[Any], Callable[[CoordinatorRecord], None]] = {
            ConsumerGroupMetadataKey: self._group,
            ConsumerGroupPartitionMetadataKey: self._legacy_metadata,
            ConsumerGroupMemberMetadataKey: self._subscription,
            ConsumerGroupTargetAssignmentMetadataKey: self._groups.replay_target_epoch,
            ConsumerGroupTargetAssignmentMemberKey: self._groups.replay_target,
            ConsumerGroupCurrentMemberAssignmentKey: self._ownership,
            ConsumerGroupRegularExpressionKey: self._pattern,
        }

    def _group(self, record: CoordinatorRecord) -> None:
        group_id = record.key.group_id
        if record.value is not None:
            group = self._groups.made(group_id)
            group.epoch = record.value.epoch
            group.metadata_hash = record.value.metadata_hash
        else:
            self._groups.remove(group_id)

    def _legacy_metadata(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            self._groups.made(record.key.group_id).legacy_metadata = True
        elif (group := self._groups.known(record.key.group_id)) is not None:
            group.legacy_metadata = False

    def _subscription(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._groups.made(key.group_id).take_subscription(key.member_id, records.subscription_from(record.value))
        elif (group := self._groups.known(key.group_id)) is not None:
            group.forget_member(key.member_id)
            self._forget_timers(key.group_id, key.member_id)

    def _ownership(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._groups.made(key.group_id).take_ownership(key.member_id, records.ownership_from(record.value))
        elif (group := self._groups.known(key.group_id)) is not None:
            group.forget_ownership(key.member_id)

    def _pattern(self, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        if value is not None:
            resolved = ResolvedPattern(frozenset(value.topics), value.version, value.timestamp)
            self._groups.made(key.group_id).patterns[key.regular_expression] = resolved
        elif (group := self._groups.known(key.group_id)) is not None:
            group.patterns.pop(key.regular_expression, None)
