"""Share groups for a directory that Apache Kafka and Barnabas use in turn: written, read back, and
continued by the program that takes over the directory.
"""

from __future__ import annotations

from typing import Any

from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.conformance.differential.comparison import plain
from tests.conformance.directories.test_coordinators import TOPIC, Traveller, ordered

PARTITIONS = 4


def beat(group: str, epoch: int, *topics: str) -> ShareGroupHeartbeatRequest:
    names = list(topics) or None
    return ShareGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=epoch, subscribed_topic_names=names)


def describe_offsets(*groups: str) -> DescribeShareGroupOffsetsRequest:
    return DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None) for each in groups])


def write(traveller: Traveller, name: str) -> None:
    """A group with a member, and one with offsets only."""

    def has_all(answer: Any) -> bool:
        return not answer.error_code and assigned(answer) == PARTITIONS

    traveller.patiently(beat(f"{name} members", 0, TOPIC), 1, has_all)
    offsets = [AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=index) for index in range(PARTITIONS)]
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=offsets)]
    altered = traveller.ask(AlterShareGroupOffsetsRequest(group_id=f"{name} offsets", topics=topics), 0)
    assert not any(each.error_code for topic in altered.responses for each in topic.partitions)
    # Kafka answers before the group knows that the state exists.
    traveller.patiently(describe_offsets(f"{name} offsets"), 1, lambda answer: bool(answer.groups[0].topics))


def assigned(answer: Any) -> int:
    return sum(len(topic.partitions) for topic in answer.assignment.topic_partitions) if answer.assignment is not None else 0


def everything(traveller: Traveller, names: list[str]) -> Any:
    groups = [f"{name} {kind}" for name in names for kind in ("members", "offsets")]
    described = ShareGroupDescribeRequest(group_ids=groups, include_authorized_operations=False)
    # The coordinators of groups and of share partitions read their logs first.
    shown = traveller.patiently(described, 1, lambda answer: not any(group.error_code for group in answer.groups))
    offsets = traveller.patiently(describe_offsets(*groups), 1, lambda answer: all(group.topics for group in answer.groups))
    return ordered([plain(shown, 1), plain(offsets, 1)])


def go_on(traveller: Traveller, name: str) -> None:
    """The member of a round keeps its partitions at the current broker."""
    described = ShareGroupDescribeRequest(group_ids=[f"{name} members"], include_authorized_operations=False)
    (group,) = traveller.ask(described, 1).groups
    epoch = group.members[0].member_epoch
    answer = traveller.done(beat(f"{name} members", epoch, TOPIC), 1)
    # A change of the program causes one new assignment: each hashes the topics' metadata in its own
    # way.
    assert answer.member_epoch - epoch in (0, 1)
    assert assigned(answer) == PARTITIONS
