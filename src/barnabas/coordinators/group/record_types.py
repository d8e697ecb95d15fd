"""The record types of ``__consumer_offsets`` that this coordinator understands."""

from __future__ import annotations

from barnabas.coordinators.record import RecordTypes
from barnabas.wire.coordinator_records import (
    consumer_group_current_member_assignment as current_assignment,
    consumer_group_member_metadata as member,
    consumer_group_metadata as consumer_group,
    consumer_group_partition_metadata as partition_metadata,
    consumer_group_regular_expression as regular_expression,
    consumer_group_target_assignment_member as target_member,
    consumer_group_target_assignment_metadata as target_metadata,
    group_metadata,
    legacy_offset_commit,
    offset_commit,
    share_group_current_member_assignment as share_assignment,
    share_group_member_metadata as share_member,
    share_group_metadata as share_group,
    share_group_state_partition_metadata as share_states,
    share_group_target_assignment_member as share_target,
    share_group_target_assignment_metadata as share_target_epoch,
    streams_group_current_member_assignment as streams_current,
    streams_group_member_metadata as streams_member,
    streams_group_metadata as streams_group,
    streams_group_target_assignment_member as streams_target,
    streams_group_target_assignment_metadata as streams_target_epoch,
    streams_group_topology as streams_topology,
)

GROUP_RECORD_TYPES: RecordTypes = {
    0: (legacy_offset_commit.LegacyOffsetCommitKey, legacy_offset_commit.LegacyOffsetCommitValue),
    1: (offset_commit.OffsetCommitKey, offset_commit.OffsetCommitValue),
    2: (group_metadata.GroupMetadataKey, group_metadata.GroupMetadataValue),
    3: (consumer_group.ConsumerGroupMetadataKey, consumer_group.ConsumerGroupMetadataValue),
    4: (partition_metadata.ConsumerGroupPartitionMetadataKey, partition_metadata.ConsumerGroupPartitionMetadataValue),
    5: (member.ConsumerGroupMemberMetadataKey, member.ConsumerGroupMemberMetadataValue),
    6: (target_metadata.ConsumerGroupTargetAssignmentMetadataKey, target_metadata.ConsumerGroupTargetAssignmentMetadataValue),
    7: (target_member.ConsumerGroupTargetAssignmentMemberKey, target_member.ConsumerGroupTargetAssignmentMemberValue),
    8: (current_assignment.ConsumerGroupCurrentMemberAssignmentKey, current_assignment.ConsumerGroupCurrentMemberAssignmentValue),
    10: (share_member.ShareGroupMemberMetadataKey, share_member.ShareGroupMemberMetadataValue),
    11: (share_group.ShareGroupMetadataKey, share_group.ShareGroupMetadataValue),
    12: (share_target_epoch.ShareGroupTargetAssignmentMetadataKey, share_target_epoch.ShareGroupTargetAssignmentMetadataValue),
    13: (share_target.ShareGroupTargetAssignmentMemberKey, share_target.ShareGroupTargetAssignmentMemberValue),
    14: (share_assignment.ShareGroupCurrentMemberAssignmentKey, share_assignment.ShareGroupCurrentMemberAssignmentValue),
    15: (share_states.ShareGroupStatePartitionMetadataKey, share_states.ShareGroupStatePartitionMetadataValue),
    16: (regular_expression.ConsumerGroupRegularExpressionKey, regular_expression.ConsumerGroupRegularExpressionValue),
    17: (streams_group.StreamsGroupMetadataKey, streams_group.StreamsGroupMetadataValue),
    19: (streams_member.StreamsGroupMemberMetadataKey, streams_member.StreamsGroupMemberMetadataValue),
    20: (
        streams_target_epoch.StreamsGroupTargetAssignmentMetadataKey,
        streams_target_epoch.StreamsGroupTargetAssignmentMetadataValue,
    ),
    21: (streams_target.StreamsGroupTargetAssignmentMemberKey, streams_target.StreamsGroupTargetAssignmentMemberValue),
    22: (streams_current.StreamsGroupCurrentMemberAssignmentKey, streams_current.StreamsGroupCurrentMemberAssignmentValue),
    23: (streams_topology.StreamsGroupTopologyKey, streams_topology.StreamsGroupTopologyValue),
}
