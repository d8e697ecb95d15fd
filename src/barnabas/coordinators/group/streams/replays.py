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
from barnabas.coordinators.group.targeted_groups import TargetedGroups
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.streams_group_current_member_assignment import StreamsGroupCurrentMemberAssignmentKey
from barnabas.wire.coordinator_records.streams_group_member_metadata import StreamsGroupMemberMetadataKey
from barnabas.wire.coordinator_records.streams_group_metadata import StreamsGroupMetadataKey
from barnabas.wire.coordinator_records.streams_group_target_assignment_member import StreamsGroupTargetAssignmentMemberKey
from barnabas.wire.coordinator_records.streams_group_target_assignment_metadata import StreamsGroupTargetAssignmentMetadataKey
from barnabas.wire.coordinator_records.streams_group_topology import StreamsGroupTopologyKey


class Replays:
    def __init__(self, groups: dict[str, Group], deadlines: Deadlines) -> None:
        """Removed members and groups lose their deadlines."""
        self._groups = TargetedGroups(groups, StreamsGroup, records.target_from)
        self._deadlines = deadlines
        self.by_key: dict[type[Any], Callable[[CoordinatorRecord], None]] = {
            StreamsGroupMetadataKey: self._group,
            StreamsGroupTopologyKey: self._topology,
            StreamsGroupMemberMetadataKey: self._metadata,
            StreamsGroupTargetAssignmentMetadataKey: self._groups.replay_target_epoch,
            StreamsGroupTargetAssignmentMemberKey: self._groups.replay_target,
            StreamsGroupCurrentMemberAssignmentKey: self._ownership,
        }

    def _group(self, record: CoordinatorRecord) -> None:
        group_id, value = record.key.group_id, record.value
        if value is not None:
            group = self._groups.made(group_id)
            group.epoch = value.epoch
            group.metadata_hash = value.metadata_hash
            group.validated_topology_epoch = value.validated_topology_epoch
            group.assignment_configs = {each.key: each.value for each in value.last_assignment_configs or ()}
        elif self._groups.remove(group_id):
            self._deadlines.forget_group(group_id)

    def _topology(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            self._groups.made(record.key.group_id).topology = topology_of(record.value)
        elif (group := self._groups.known(record.key.group_id)) is not None:
            group.topology = None

    def _metadata(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._groups.made(key.group_id).take_metadata(key.member_id, records.metadata_from(record.value))
        elif (group := self._groups.known(key.group_id)) is not None:
            group.forget_member(key.member_id)
            self._deadlines.forget(key.group_id, key.member_id)

    def _ownership(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._groups.made(key.group_id).take_ownership(key.member_id, records.ownership_from(record.value))
        elif (group := self._groups.known(key.group_id)) is not None:
            group.forget_ownership(key.member_id)
