"""Share groups in a directory that Apache Kafka and Barnabas use in turn: the program that takes
over the directory reports the same members, epochs and offsets, and serves the members.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
from peers.apache_kafka import free_port, why_missing
from tests.conformance.differential.comparison import plain
from tests.conformance.directories.test_coordinators import TOPIC, Traveller, kafka, ordered, travelling
from tests.conformance.directories.test_journeys import KILL, STOP, barnabas

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

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


def test_share_groups_survive_kafka_to_barnabas_and_back(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    names: list[str] = []

    def stay(traveller: Traveller, name: str, before: Any) -> Any:
        if names:
            assert everything(traveller, names) == before
            go_on(traveller, names[-1])
        names.append(name)
        write(traveller, name)
        return everything(traveller, names)

    with kafka(data, port, KILL, format_storage=True) as bootstrap:
        first = Traveller(bootstrap)
        first.found()
        first.close()
        with travelling(bootstrap) as traveller:
            before = stay(traveller, "kafka's", None)
    with barnabas(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        before = stay(traveller, "ours", before)
    with kafka(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        before = stay(traveller, "kafka's second", before)
    with barnabas(data, port, KILL) as bootstrap, travelling(bootstrap) as traveller:
        stay(traveller, "our second", before)
