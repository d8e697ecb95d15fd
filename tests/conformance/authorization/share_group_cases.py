"""Requests about share groups and their offsets."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from barnabas.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.conformance.authorization.case import ABSENT, GROUP, HIDDEN, OPEN, TOPICS, Case
from tests.conformance.authorization.sides import Side

MEMBERS, OFFSETS = "share-members", "share-offsets"


def prepare_share_groups(side: Side) -> None:
    """A group with a member that has partitions of both topics, and one with offsets in both."""
    side.until(_join(), 1, lambda answer: answer.error_code == ErrorCode.NONE and len(answer.assignment.topic_partitions) == 2)
    _alter(side)


def _join() -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(group_id=MEMBERS, member_id="member", member_epoch=0, subscribed_topic_names=[OPEN, HIDDEN])


def _alteration(group: str, *topics: str) -> AlterShareGroupOffsetsRequest:
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    return AlterShareGroupOffsetsRequest(
        group_id=group, topics=[AlterShareGroupOffsetsRequestTopic(topic_name=each, partitions=[partition]) for each in topics]
    )


def _alter(side: Side) -> None:
    altered = _alteration(OFFSETS, OPEN, HIDDEN)
    side.until(altered, 0, lambda answer: not answer.error_code and not any(each.error_code for each in _partitions(answer.responses)))
    # Kafka answers before the group knows that the state exists.
    side.until(_describe_all(OFFSETS), 1, lambda answer: len(answer.groups[0].topics) == 2)


def _partitions(topics: list[AlterShareGroupOffsetsResponseTopic]) -> list[AlterShareGroupOffsetsResponsePartition]:
    return [each for topic in topics for each in topic.partitions]


def _describe_all(*groups: str) -> DescribeShareGroupOffsetsRequest:
    return DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None) for each in groups])


def heartbeat(side: Side, version: int) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(group_id=side.fresh(), member_id="member", member_epoch=0, subscribed_topic_names=[OPEN, ABSENT])


def describe(side: Side, version: int) -> ShareGroupDescribeRequest:
    """The member sends a heartbeat before, because its session is short."""
    assert side.admin.ask(_join(), 1).error_code == ErrorCode.NONE
    return ShareGroupDescribeRequest(group_ids=[MEMBERS, GROUP, "absent-group"], include_authorized_operations=True)


def describe_offsets(side: Side, version: int) -> DescribeShareGroupOffsetsRequest:
    topics = [DescribeShareGroupOffsetsRequestTopic(topic_name=each, partitions=[0]) for each in TOPICS]
    groups = [DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=topics) for each in (OFFSETS, "absent-group")]
    return DescribeShareGroupOffsetsRequest(groups=groups)


def delete_offsets(side: Side, version: int) -> DeleteShareGroupOffsetsRequest:
    """Of a group that an administrator has just given offsets."""
    _alter(side)
    return DeleteShareGroupOffsetsRequest(
        group_id=OFFSETS, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in TOPICS]
    )


def alter(side: Side, version: int) -> AlterShareGroupOffsetsRequest:
    return _alteration(side.fresh(), *TOPICS)


CASES = [
    Case(
        "ShareGroupHeartbeat",
        ShareGroupHeartbeatRequest,
        heartbeat,
        ("READ group fresh*", "DESCRIBE topic"),
        (("READ group fresh*", "DESCRIBE topic open"), ("READ group fresh*", "READ topic *")),
    ),
    Case(
        "ShareGroupDescribe",
        ShareGroupDescribeRequest,
        describe,
        (),
        (
            ("DESCRIBE group *",),
            ("DESCRIBE group share-members", "DESCRIBE topic open"),
            ("READ group *", "READ topic open", "READ topic hidden"),
            ("DESCRIBE group *", "DESCRIBE topic *", "DENY DESCRIBE topic hidden"),
        ),
    ),
    Case(
        "DescribeShareGroupOffsets",
        DescribeShareGroupOffsetsRequest,
        describe_offsets,
        ("DESCRIBE group share-offsets", "DESCRIBE topic"),
        (("READ group *", "READ topic *"), ("DESCRIBE group *",)),
    ),
    Case(
        "DescribeShareGroupOffsets of all",
        DescribeShareGroupOffsetsRequest,
        lambda side, version: _describe_all(OFFSETS, "absent-group"),
        ("DESCRIBE group share-offsets", "DESCRIBE topic"),
        (("READ group *", "READ topic *"), ("DESCRIBE group *",)),
    ),
    Case(
        "AlterShareGroupOffsets",
        AlterShareGroupOffsetsRequest,
        alter,
        ("READ group fresh*", "READ topic"),
        (("READ group fresh*", "DESCRIBE topic open"), ("READ group fresh*", "READ topic *"), ("DESCRIBE group *", "READ topic *")),
    ),
    Case(
        "DeleteShareGroupOffsets",
        DeleteShareGroupOffsetsRequest,
        delete_offsets,
        ("DELETE group share-offsets", "READ topic"),
        (("DELETE group share-offsets", "DESCRIBE topic open"), ("READ group *", "READ topic *")),
    ),
]
