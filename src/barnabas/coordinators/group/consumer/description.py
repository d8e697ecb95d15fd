"""A consumer group in the form of ConsumerGroupDescribe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.member import ConsumerMember
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


def describe_group(group: ConsumerGroup, assignor_name: str, topics: Mapping[Uuid, TopicImage]) -> DescribedGroup:
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=assignor_name,
        members=[_member(member, group.targets.get(member.member_id, frozenset()), topics) for member in group.members.values()],
    )


def not_described(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _member(member: ConsumerMember, target: frozenset[IdPartition], topics: Mapping[Uuid, TopicImage]) -> Member:
    asked = member.subscription
    return Member(
        member_id=member.member_id,
        instance_id=asked.instance_id,
        rack_id=asked.rack_id,
        member_epoch=member.epoch,
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscribed_topic_names=list(asked.topics),
        subscribed_topic_regex=asked.pattern,
        # Partitions that the member has not revoked yet still belong to it.
        assignment=_assignment([*member.ownership.assigned, *member.ownership.revoking], topics),
        target_assignment=_assignment(target, topics),
        member_type=_CONSUMER_MEMBER if asked.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(partitions: Iterable[IdPartition], topics: Mapping[Uuid, TopicImage]) -> Assignment:
    """Leaves out topics that were deleted meanwhile, because they have no name."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topics[topic_id].name, partitions=numbers)
            for topic_id, numbers in by_topic(partitions).items()
            if topic_id in topics
        ]
    )
