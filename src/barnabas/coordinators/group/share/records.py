"""The records of share groups, and their conversion to and from the values of this package."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set as AbstractSet

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.share.member import ShareAssignment, ShareMember, ShareSubscription
from barnabas.coordinators.group.share.topic_states import TopicPartitions, TopicStates
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.ids import Uuid
from barnabas.wire.coordinator_records import (
    share_group_current_member_assignment as wire_current,
    share_group_member_metadata as wire_member,
    share_group_metadata as wire_group,
    share_group_state_partition_metadata as wire_states,
    share_group_target_assignment_member as wire_target,
    share_group_target_assignment_metadata as wire_target_epoch,
)

_STABLE = 0  # The only state of a member of a share group.

# -- the group -------------------------------------------------------------------------------------


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = wire_group.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(wire_group.ShareGroupMetadataKey(group_id=group_id), value)


def no_group_at_all(group_id: str, members: Collection[str]) -> list[CoordinatorRecord]:
    """The record of the group itself comes last, so that a reader that stops in between still knows
    the group.
    """
    return [
        *(record for member_id in members for record in no_member(group_id, member_id)),
        CoordinatorRecord(wire_target_epoch.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        CoordinatorRecord(wire_states.ShareGroupStatePartitionMetadataKey(group_id=group_id), None),
        CoordinatorRecord(wire_group.ShareGroupMetadataKey(group_id=group_id), None),
    ]


# -- members ---------------------------------------------------------------------------------------


def subscription(group_id: str, member: ShareMember) -> CoordinatorRecord:
    asked = member.subscription
    value = wire_member.ShareGroupMemberMetadataValue(
        rack_id=asked.rack_id,
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscribed_topic_names=list(asked.topics),
    )
    return CoordinatorRecord(wire_member.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def subscription_from(value: wire_member.ShareGroupMemberMetadataValue) -> ShareSubscription:
    return ShareSubscription(value.rack_id, value.client_id, value.client_host, tuple(sorted(value.subscribed_topic_names)))


def assignment(group_id: str, member: ShareMember) -> CoordinatorRecord:
    assigned = by_topic(member.assignment.partitions).items()
    value = wire_current.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.assignment.epoch,
        previous_member_epoch=member.assignment.previous_epoch,
        state=_STABLE,
        assigned_partitions=[wire_current.TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in assigned],
    )
    return CoordinatorRecord(wire_current.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def assignment_from(value: wire_current.ShareGroupCurrentMemberAssignmentValue) -> ShareAssignment:
    partitions = frozenset((topic.topic_id, number) for topic in value.assigned_partitions for number in topic.partitions)
    return ShareAssignment(value.member_epoch, value.previous_member_epoch, partitions)


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        CoordinatorRecord(wire_current.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(wire_target.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(wire_member.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


# -- the target ------------------------------------------------------------------------------------


def target(group_id: str, member_id: str, partitions: AbstractSet[IdPartition]) -> CoordinatorRecord:
    topics = [wire_target.TopicPartition(topic_id=topic_id, partitions=numbers) for topic_id, numbers in by_topic(partitions).items()]
    value = wire_target.ShareGroupTargetAssignmentMemberValue(topic_partitions=topics)
    return CoordinatorRecord(wire_target.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def target_from(value: wire_target.ShareGroupTargetAssignmentMemberValue) -> frozenset[IdPartition]:
    return frozenset((topic.topic_id, number) for topic in value.topic_partitions for number in topic.partitions)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = wire_target_epoch.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return CoordinatorRecord(wire_target_epoch.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


# -- the states of topics --------------------------------------------------------------------------


def topic_states(group_id: str, states: TopicStates) -> CoordinatorRecord:
    value = wire_states.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_topics(states.initializing),
        initialized_topics=_topics(states.initialized),
        deleting_topics=[wire_states.TopicInfo(topic_id=topic_id, topic_name=name) for topic_id, name in sorted(states.deleting.items())],
    )
    return CoordinatorRecord(wire_states.ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def _topics(topics: Mapping[Uuid, TopicPartitions]) -> list[wire_states.TopicPartitionsInfo]:
    return [
        wire_states.TopicPartitionsInfo(topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions))
        for topic_id, topic in sorted(topics.items())
    ]


def topic_states_from(value: wire_states.ShareGroupStatePartitionMetadataValue) -> TopicStates:
    return TopicStates(
        initializing=_topics_from(value.initializing_topics),
        initialized=_topics_from(value.initialized_topics),
        deleting={topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def _topics_from(topics: list[wire_states.TopicPartitionsInfo]) -> dict[Uuid, TopicPartitions]:
    return {topic.topic_id: TopicPartitions(topic.topic_name, frozenset(topic.partitions)) for topic in topics}
