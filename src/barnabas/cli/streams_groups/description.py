"""A streams group as its coordinator describes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Broker, Brokers, CoordinatorOf, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_describe import (
    DescribedGroup,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
)

# Subtopologies, and the numbers of their tasks.
Tasks = Mapping[str, tuple[int, ...]]


class Role(StrEnum):
    SOURCE = "source"
    REPARTITION = "repartition"
    CHANGELOG = "changelog"
    SINK = "sink"


class TopologyTopic(NamedTuple):
    subtopology_id: str
    role: Role
    topic: str
    partitions: int | None
    """Known of internal topics, once all topics exist."""


@dataclass(frozen=True, slots=True)
class StreamsGroupMember:
    member_id: str
    process_id: str
    client_id: str
    host: str
    endpoint: str | None
    epoch: int
    active: Tasks
    standby: Tasks
    target_active: Tasks
    target_standby: Tasks


@dataclass(frozen=True, slots=True)
class StreamsGroupDescription:
    group_id: str
    state: str
    coordinator: Broker
    members: tuple[StreamsGroupMember, ...]
    epoch: int
    target_epoch: int
    topology_epoch: int | None
    topology: tuple[TopologyTopic, ...]

    def owners(self) -> dict[Partition, StreamsGroupMember]:
        """A task reads the partition of its number in each source of its subtopology."""
        return {
            Partition(each.topic, number): member
            for member in self.members
            for each in self.topology
            if each.role in (Role.SOURCE, Role.REPARTITION)
            for number in member.active.get(each.subtopology_id, ())
        }

    def internal_topics(self) -> list[str]:
        return sorted({each.topic for each in self.topology if each.role in (Role.REPARTITION, Role.CHANGELOG)})


def existing_streams_group(brokers: Brokers, group_id: str) -> StreamsGroupDescription:
    response: StreamsGroupDescribeResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP,
        group_id,
        StreamsGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False),
        codes=lambda response: (each.error_code for each in response.groups),
    )
    group: DescribedGroup = response.groups[0]
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise Refused(f"There is no streams group {group_id}.")
    refuse_error(group.error_code, group.error_message, f"Cannot describe streams group {group_id}")
    topology = group.topology
    return StreamsGroupDescription(
        group_id,
        group.group_state,
        brokers.coordinator(CoordinatorOf.GROUP, group_id),
        tuple(_member(each) for each in sorted(group.members, key=lambda each: each.member_id)),
        group.group_epoch,
        group.assignment_epoch,
        None if topology is None else topology.epoch,
        () if topology is None else tuple(topic for each in topology.subtopologies or () for topic in _topics(each)),
    )


def _member(member: Member) -> StreamsGroupMember:
    endpoint = member.user_endpoint
    return StreamsGroupMember(
        member.member_id,
        member.process_id,
        member.client_id,
        member.client_host,
        None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
        member.member_epoch,
        _tasks(member.assignment.active_tasks),
        _tasks(member.assignment.standby_tasks),
        _tasks(member.target_assignment.active_tasks),
        _tasks(member.target_assignment.standby_tasks),
    )


def _tasks(listed: Iterable[TaskIds]) -> Tasks:
    return {each.subtopology_id: tuple(sorted(each.partitions)) for each in sorted(listed, key=lambda each: each.subtopology_id)}


def _topics(subtopology: Subtopology) -> Iterator[TopologyTopic]:
    identity = subtopology.subtopology_id
    yield from (TopologyTopic(identity, Role.SOURCE, name, None) for name in subtopology.source_topics)
    for role, topics in ((Role.REPARTITION, subtopology.repartition_source_topics), (Role.CHANGELOG, subtopology.state_changelog_topics)):
        yield from (TopologyTopic(identity, role, topic.name, topic.partitions or None) for topic in topics)
    yield from (TopologyTopic(identity, Role.SINK, name, None) for name in subtopology.repartition_sink_topics)
