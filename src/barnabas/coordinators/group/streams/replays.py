"""Replays records of streams groups. Tombstones of unknown keys are valid, because a compacted log
may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.streams import records
from barnabas.coordinators.group.streams.deadlines import Deadlines
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.group.streams.topology_forms import topology_of
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.streams_group_current_member_assignment import StreamsGroupCurrentMemberAssignmentKey
from barnabas.wire.coordinator_records.streams_group_member_metadata import StreamsGroupMemberMetadataKey
from barnabas.wire.coordinator_records.streams_group_metadata import StreamsGroupMetadataKey
from barnabas.wire.coordinator_records.streams_group_target_assignment_member import StreamsGroupTargetAssignmentMemberKey
from barnabas.wire.coordinator_records.streams_group_target_assignment_metadata import StreamsGroupTargetAssignmentMetadataKey
from barnabas.wire.coordinator_records.streams_group_topology import StreamsGroupTopologyKey

_NO_TARGET_EPOCH = -1


class Replays:
    def __init__(self, groups: dict[str, Group], deadlines: Deadlines) -> None:
        """Removed members and groups lose their deadlines."""
        self._groups = groups
        self._deadlines = deadlines
        self.by_key: dict[type[Any], Callable[[CoordinatorRecord], None]] = {
            StreamsGroupMetadataKey: self._group,
            StreamsGroupTopologyKey: self._topology,
            StreamsGroupMemberMetadataKey: self._metadata,
            StreamsGroupTargetAssignmentMetadataKey: self._target_epoch,
            StreamsGroupTargetAssignmentMemberKey: self._target,
            StreamsGroupCurrentMemberAssignmentKey: self._ownership,
        }

    def _known(self, group_id: str) -> StreamsGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, StreamsGroup) else None

    def _made(self, group_id: str) -> StreamsGroup:
        group = self._known(group_id)
        if group is None:
            # A previous group of this id was empty: its tombstone precedes in the log, or it had no
            # record at all.
            group = self._groups[group_id] = StreamsGroup(group_id)
        return group

    def _group(self, record: CoordinatorRecord) -> None:
        group_id, value = record.key.group_id, record.value
        if value is not None:
            group = self._made(group_id)
            group.epoch = value.epoch
            group.metadata_hash = value.metadata_hash
            group.validated_topology_epoch = value.validated_topology_epoch
            group.assignment_configs = {each.key: each.value for each in value.last_assignment_configs or ()}
        elif self._known(group_id) is not None:
            del self._groups[group_id]
            self._deadlines.forget_group(group_id)

    def _topology(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            self._made(record.key.group_id).topology = topology_of(record.value)
        elif (group := self._known(record.key.group_id)) is not None:
            group.topology = None

    def _metadata(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._made(key.group_id).take_metadata(key.member_id, records.metadata_from(record.value))
        elif (group := self._known(key.group_id)) is not None:
            group.forget_member(key.member_id)
            self._deadlines.forget(key.group_id, key.member_id)

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
