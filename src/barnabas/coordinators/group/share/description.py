"""A share group in the form of ShareGroupDescribe."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.share.member import ShareMember
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_ASSIGNOR = "simple"


def describe_group(group: ShareGroup, topics: Mapping[Uuid, TopicImage]) -> DescribedGroup:
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=_ASSIGNOR,
        members=[_member(member, topics) for member in group.members.values()],
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


def _member(member: ShareMember, topics: Mapping[Uuid, TopicImage]) -> Member:
    """Leaves out topics that were deleted meanwhile, because they have no name."""
    asked = member.subscription
    assigned = [
        TopicPartitions(topic_id=topic_id, topic_name=topics[topic_id].name, partitions=numbers)
        for topic_id, numbers in by_topic(member.assignment.partitions).items()
        if topic_id in topics
    ]
    return Member(
        member_id=member.member_id,
        rack_id=asked.rack_id,
        member_epoch=member.epoch,
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscribed_topic_names=list(asked.topics),
        assignment=Assignment(topic_partitions=assigned),
    )
