"""Requests about share groups, short enough to be read as a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene

FOUR, TWO = "shared-four", "shared-two"


def create_topics(pair: Pair) -> None:
    for name, partitions in ((FOUR, 4), (TWO, 2)):
        if name not in _created:
            pair.create(name, partitions)
            _created.add(name)


# Of the one pair of a test run.
_created: set[str] = set()


def beats(
    scene: Scene, group: str, member: str, epoch: int, *topics: str, expect: int | None = None, rack: str | None = None, **fields: Any
) -> Any:
    """A heartbeat of both sides; without topics the subscription stays."""

    def made(the: Known) -> ShareGroupHeartbeatRequest:
        for topic in (FOUR, TWO):
            the.topic_id(topic)
        names = fields.get("names", list(topics) or None)
        return ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, rack_id=rack, subscribed_topic_names=names)

    return scene.same(made, by=member or "nobody", expect=expect)


def joins(scene: Scene, group: str, member: str, *topics: str) -> None:
    """The member joins, and receives partitions with a later heartbeat: state is initialized in the
    background.
    """
    beats(scene, group, member, 0, *topics, expect=ErrorCode.NONE)
    initialized(scene, group, *topics)


def initialized(scene: Scene, group: str, *topics: str) -> None:
    count = sum({FOUR: 4, TWO: 2}.get(topic, 0) for topic in topics)

    def all_there(answer: Any) -> bool:
        return sum(len(topic.partitions) for topic in answer.groups[0].topics) >= count

    scene.until(offsets_request({group: None}), all_there)


def shown(scene: Scene, *groups: str) -> None:
    scene.same(ShareGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=False))


def offsets_request(groups: Mapping[str, Mapping[str, Sequence[int]] | None]) -> DescribeShareGroupOffsetsRequest:
    return DescribeShareGroupOffsetsRequest(
        groups=[
            DescribeShareGroupOffsetsRequestGroup(
                group_id=group,
                topics=None
                if topics is None
                else [DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=list(numbers)) for name, numbers in topics.items()],
            )
            for group, topics in groups.items()
        ]
    )


def offsets_shown(scene: Scene, groups: Mapping[str, Mapping[str, Sequence[int]] | None]) -> None:
    for version in (0, 1):
        scene.same(offsets_request(groups), version)


def alter(group: str, **topics: Mapping[int, int]) -> AlterShareGroupOffsetsRequest:
    """Offsets by topic and partition; underscores in names stand for hyphens."""
    return AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name=name.replace("_", "-"),
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=each) for index, each in offsets.items()
                ],
            )
            for name, offsets in topics.items()
        ],
    )


def delete_offsets(group: str, *topics: str) -> DeleteShareGroupOffsetsRequest:
    return DeleteShareGroupOffsetsRequest(group_id=group, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in topics])
