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
    16: (regular_expression.ConsumerGroupRegularExpressionKey, regular_expression.ConsumerGroupRegularExpressionValue),
}
