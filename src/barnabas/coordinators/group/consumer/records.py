"""The records of consumer groups, and their conversion to and from the values of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set as AbstractSet

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer.member import (
    ClassicProtocol,
    ClassicSide,
    ConsumerMember,
    MemberState,
    OwnedPartitions,
    Ownership,
    Subscription,
)
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records import (
    consumer_group_current_member_assignment as wire_current,
    consumer_group_member_metadata as wire_member,
    consumer_group_metadata as wire_group,
    consumer_group_partition_metadata as wire_legacy,
    consumer_group_regular_expression as wire_pattern,
    consumer_group_target_assignment_member as wire_target,
    consumer_group_target_assignment_metadata as wire_target_epoch,
)

# -- the group -------------------------------------------------------------------------------------


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = wire_group.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(wire_group.ConsumerGroupMetadataKey(group_id=group_id), value)


def no_group(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(wire_group.ConsumerGroupMetadataKey(group_id=group_id), None)


def no_group_at_all(group_id: str, members: Iterable[str], patterns: Iterable[str], *, legacy_metadata: bool) -> list[CoordinatorRecord]:
    """The record of the group itself comes last, so that a reader that stops in between still knows
    the group.
    """
    deletions = [record for member_id in members for record in no_member(group_id, member_id)]
    deletions += [no_pattern(group_id, text) for text in patterns]
    if legacy_metadata:
        deletions.append(no_legacy_metadata(group_id))
    return [*deletions, no_target_epoch(group_id), no_group(group_id)]


def no_legacy_metadata(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(wire_legacy.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


# -- members ---------------------------------------------------------------------------------------


def subscription(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    asked = member.subscription
    value = wire_member.ConsumerGroupMemberMetadataValue(
        instance_id=asked.instance_id,
        rack_id=asked.rack_id,
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscribed_topic_names=list(asked.topics),
        subscribed_topic_regex=asked.pattern,
        rebalance_timeout_ms=asked.rebalance_timeout_ms,
        server_assignor=asked.assignor,
        classic_member_metadata=_classic_value(asked.classic),
    )
    return CoordinatorRecord(wire_member.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def _classic_value(side: ClassicSide | None) -> wire_member.ClassicMemberMetadata | None:
    if side is None:
        return None
    protocols = [wire_member.ClassicProtocol(name=each.name, metadata=each.metadata) for each in side.protocols]
    return wire_member.ClassicMemberMetadata(session_timeout_ms=side.session_timeout_ms, supported_protocols=protocols)


def subscription_from(value: wire_member.ConsumerGroupMemberMetadataValue) -> Subscription:
    side = value.classic_member_metadata
    classic = None
    if side is not None:
        protocols = tuple(ClassicProtocol(each.name, bytes(each.metadata)) for each in side.supported_protocols)
        classic = ClassicSide(side.session_timeout_ms, protocols)
    return Subscription(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(sorted(value.subscribed_topic_names)),
        pattern=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=classic,
    )


def ownership(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    owned = member.ownership
    value = wire_current.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=owned.epoch,
        previous_member_epoch=owned.previous_epoch,
        state=owned.state,
        assigned_partitions=_owned_values(owned.assigned),
        partitions_pending_revocation=_owned_values(owned.revoking),
    )
    return CoordinatorRecord(wire_current.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def _owned_values(partitions: OwnedPartitions) -> list[wire_current.TopicPartitions]:
    return [
        wire_current.TopicPartitions(
            topic_id=topic_id, partitions=numbers, assignment_epochs=[partitions[topic_id, number] for number in numbers]
        )
        for topic_id, numbers in by_topic(partitions).items()
    ]


def ownership_from(value: wire_current.ConsumerGroupCurrentMemberAssignmentValue) -> Ownership:
    # Records from before KIP-1251 have no epochs of partitions; the member epoch is the safe
    # choice.
    default_epoch = max(value.member_epoch, 0)
    return Ownership(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=dict(_owned_from(value.assigned_partitions, default_epoch)),
        revoking=dict(_owned_from(value.partitions_pending_revocation, default_epoch)),
    )


def _owned_from(topics: list[wire_current.TopicPartitions], default_epoch: int) -> Iterator[tuple[IdPartition, int]]:
    for topic in topics:
        epochs = topic.assignment_epochs or ()
        if len(epochs) != len(topic.partitions):
            epochs = [default_epoch] * len(topic.partitions)
        for partition, epoch in zip(topic.partitions, epochs, strict=True):
            yield (topic.topic_id, partition), epoch


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        CoordinatorRecord(wire_current.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(wire_target.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(wire_member.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


# -- the target ------------------------------------------------------------------------------------


def target(group_id: str, member_id: str, partitions: AbstractSet[IdPartition]) -> CoordinatorRecord:
    topics = [wire_target.TopicPartition(topic_id=topic_id, partitions=numbers) for topic_id, numbers in by_topic(partitions).items()]
    value = wire_target.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics)
    return CoordinatorRecord(wire_target.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def target_from(value: wire_target.ConsumerGroupTargetAssignmentMemberValue) -> frozenset[IdPartition]:
    return frozenset((topic.topic_id, partition) for topic in value.topic_partitions for partition in topic.partitions)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = wire_target_epoch.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return CoordinatorRecord(wire_target_epoch.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def no_target_epoch(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(wire_target_epoch.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


# -- patterns --------------------------------------------------------------------------------------


def pattern(group_id: str, text: str, topics: AbstractSet[str], version: int, timestamp_ms: int) -> CoordinatorRecord:
    value = wire_pattern.ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=timestamp_ms)
    return CoordinatorRecord(wire_pattern.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=text), value)


def no_pattern(group_id: str, text: str) -> CoordinatorRecord:
    return CoordinatorRecord(wire_pattern.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=text), None)
