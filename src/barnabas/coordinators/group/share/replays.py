"""Replays records of share groups. Tombstones of unknown keys are valid, because a compacted log
may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.share import records
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.topic_states import TopicStates
from barnabas.coordinators.group.targeted_groups import TargetedGroups
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.share_group_current_member_assignment import ShareGroupCurrentMemberAssignmentKey
from barnabas.wire.coordinator_records.share_group_member_metadata import ShareGroupMemberMetadataKey
from barnabas.wire.coordinator_records.share_group_metadata import ShareGroupMetadataKey
from barnabas.wire.coordinator_records.share_group_state_partition_metadata import ShareGroupStatePartitionMetadataKey
from barnabas.wire.coordinator_records.share_group_target_assignment_member import ShareGroupTargetAssignmentMemberKey
from barnabas.wire.coordinator_records.share_group_target_assignment_metadata import ShareGroupTargetAssignmentMetadataKey


class Replays:
    def __init__(
        self, groups: dict[str, Group], *, forget_session: Callable[[str, str], None], forget_group: Callable[[str], None]
    ) -> None:
        """``forget_session(group_id, member_id)`` is called for a removed member,
        ``forget_group(group_id)`` for a removed group.
        """
        self._groups = TargetedGroups(groups, ShareGroup, records.target_from)
        self._forget_session = forget_session
        self._forget_group = forget_group
        self.by_key: dict[type[Any], Callable[[CoordinatorRecord], None]] = {
            ShareGroupMetadataKey: self._group,
            ShareGroupMemberMetadataKey: self._subscription,
            ShareGroupTargetAssignmentMetadataKey: self._groups.replay_target_epoch,
            ShareGroupTargetAssignmentMemberKey: self._groups.replay_target,
            ShareGroupCurrentMemberAssignmentKey: self._assignment,
            ShareGroupStatePartitionMetadataKey: self._states,
        }

    def _group(self, record: CoordinatorRecord) -> None:
        group_id = record.key.group_id
        if record.value is not None:
            group = self._groups.made(group_id)
            group.epoch = record.value.epoch
            group.metadata_hash = record.value.metadata_hash
        elif self._groups.remove(group_id):
            self._forget_group(group_id)

    def _subscription(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._groups.made(key.group_id).take_subscription(key.member_id, records.subscription_from(record.value))
        elif (group := self._groups.known(key.group_id)) is not None:
            group.members.pop(key.member_id, None)
            self._forget_session(key.group_id, key.member_id)

    def _assignment(self, record: CoordinatorRecord) -> None:
        key = record.key
        if record.value is not None:
            self._groups.made(key.group_id).take_assignment(key.member_id, records.assignment_from(record.value))
        elif (group := self._groups.known(key.group_id)) is not None:
            group.forget_assignment(key.member_id)

    def _states(self, record: CoordinatorRecord) -> None:
        if record.value is not None:
            self._groups.made(record.key.group_id).states = records.topic_states_from(record.value)
        elif (known := self._groups.known(record.key.group_id)) is not None:
            known.states = TopicStates()
