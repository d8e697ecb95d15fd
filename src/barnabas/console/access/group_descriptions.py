"""Groups as their coordinators describe them: a request for each coordinator and kind."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable
from typing import Any, Final

from barnabas.console.access.cluster_client import ClusterClient, CoordinatorOf
from barnabas.console.access.groups import GroupListing
from barnabas.console.access.refusals import refuse_error
from barnabas.console.core.group import (
    Group,
    GroupKind,
    Member,
    Subtopology,
    SubtopologyTasks,
    TopicAssignment,
    TopologyTopic,
    assigned,
    partitions_of_tasks,
)
from barnabas.console.errors import ConsoleError
from barnabas.model.errors import ErrorCode
from barnabas.wire.compiler import decode
from barnabas.wire.declare import declaration_of
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolAssignment
from barnabas.wire.messages import (
    consumer_group_describe as consumer_messages,
    describe_groups as classic_messages,
    share_group_describe as share_messages,
    streams_group_describe as streams_messages,
)
from barnabas.wire.tagged_fields import MalformedMessage

_VERSION: Final = struct.Struct(">h")
_CONSUMER: Final = "consumer"


async def describe_group(client: ClusterClient, listing: GroupListing) -> Group:
    """Raises a ``ConsoleError``, also when the group is gone since it was listed."""
    response = await client.ask_coordinator(
        CoordinatorOf.GROUP,
        listing.id,
        _request(listing.kind, [listing.id]),
        codes=lambda answer: (each.error_code for each in answer.groups),
    )
    (group,) = response.groups
    refuse_error(group.error_code, group.error_message, f"Cannot describe group {listing.id}")
    return _described(listing.kind, group)


async def describe_groups(client: ClusterClient, listings: Iterable[GroupListing]) -> dict[str, Group]:
    """By id. Groups of a coordinator that does not answer, and groups that are gone, are
    missing."""
    asked: dict[tuple[int, str], list[str]] = {}
    for each in listings:
        asked.setdefault((each.coordinator, each.kind), []).append(each.id)
    answers = await asyncio.gather(*(_ask(client, coordinator, kind, ids) for (coordinator, kind), ids in asked.items()))
    return {each.id: each for answer in answers for each in answer}


async def _ask(client: ClusterClient, coordinator: int, kind: str, ids: list[str]) -> list[Group]:
    try:
        response = await client.ask_broker(coordinator, _request(kind, ids))
    except ConsoleError:
        return []
    return [_described(kind, each) for each in response.groups if each.error_code == ErrorCode.NONE]


def _request(kind: str, ids: list[str]) -> Any:
    match kind:
        case GroupKind.CONSUMER:
            return consumer_messages.ConsumerGroupDescribeRequest(group_ids=ids, include_authorized_operations=False)
        case GroupKind.SHARE:
            return share_messages.ShareGroupDescribeRequest(group_ids=ids, include_authorized_operations=False)
        case GroupKind.STREAMS:
            return streams_messages.StreamsGroupDescribeRequest(group_ids=ids, include_authorized_operations=False)
    return classic_messages.DescribeGroupsRequest(groups=ids)


def _described(kind: str, group: Any) -> Group:
    match kind:
        case GroupKind.CONSUMER:
            return _consumer_group(group)
        case GroupKind.SHARE:
            return _share_group(group)
        case GroupKind.STREAMS:
            return _streams_group(group)
    return _classic_group(group)


def _classic_group(group: classic_messages.DescribedGroup) -> Group:
    members = [
        Member(
            each.member_id,
            each.client_id,
            each.client_host,
            each.group_instance_id,
            assignment=read_assignment(each.member_assignment) if group.protocol_type == _CONSUMER else [],
        )
        for each in sorted(group.members, key=lambda each: each.member_id)
    ]
    return Group(group.group_id, GroupKind.CLASSIC, group.group_state, group.protocol_type, group.protocol_data, members)


def _consumer_group(group: consumer_messages.DescribedGroup) -> Group:
    members = [
        Member(
            each.member_id,
            each.client_id,
            each.client_host,
            each.instance_id,
            each.member_epoch,
            assigned((one.topic_name, one.partitions) for one in each.assignment.topic_partitions),
            assigned((one.topic_name, one.partitions) for one in each.target_assignment.topic_partitions),
        )
        for each in sorted(group.members, key=lambda each: each.member_id)
    ]
    return Group(
        group.group_id,
        GroupKind.CONSUMER,
        group.group_state,
        _CONSUMER,
        group.assignor_name,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def _share_group(group: share_messages.DescribedGroup) -> Group:
    members = [
        Member(
            each.member_id,
            each.client_id,
            each.client_host,
            None,
            each.member_epoch,
            assigned((one.topic_name, one.partitions) for one in each.assignment.topic_partitions),
        )
        for each in sorted(group.members, key=lambda each: each.member_id)
    ]
    return Group(
        group.group_id,
        GroupKind.SHARE,
        group.group_state,
        "share",
        group.assignor_name,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def _streams_group(group: streams_messages.DescribedGroup) -> Group:
    topology = [] if group.topology is None else [_subtopology(each) for each in group.topology.subtopologies or ()]
    members = []
    for each in sorted(group.members, key=lambda each: each.member_id):
        active, target = _tasks(each.assignment.active_tasks), _tasks(each.target_assignment.active_tasks)
        members.append(
            Member(
                each.member_id,
                each.client_id,
                each.client_host,
                each.instance_id,
                each.member_epoch,
                partitions_of_tasks(active, topology),
                partitions_of_tasks(target, topology),
                active,
                _tasks(each.assignment.standby_tasks),
                None if each.user_endpoint is None else f"{each.user_endpoint.host}:{each.user_endpoint.port}",
            )
        )
    return Group(
        group.group_id,
        GroupKind.STREAMS,
        group.group_state,
        "streams",
        "",
        members,
        group.group_epoch,
        group.assignment_epoch,
        topology,
        None if group.topology is None else group.topology.epoch,
    )


def _subtopology(given: streams_messages.Subtopology) -> Subtopology:
    topics = [
        *(TopologyTopic("source", each) for each in given.source_topics),
        *(TopologyTopic("repartition", each.name) for each in given.repartition_source_topics),
        *(TopologyTopic("changelog", each.name) for each in given.state_changelog_topics),
        *(TopologyTopic("sink", each) for each in given.repartition_sink_topics),
    ]
    return Subtopology(given.subtopology_id, topics)


def _tasks(listed: Iterable[streams_messages.TaskIds]) -> list[SubtopologyTasks]:
    return [SubtopologyTasks(each.subtopology_id, sorted(each.partitions)) for each in sorted(listed, key=lambda each: each.subtopology_id)]


def read_assignment(data: bytes) -> list[TopicAssignment]:
    """The partitions that the leader of a classic group assigned to a consumer. Empty when the
    bytes are no assignment of consumers."""
    if len(data) < _VERSION.size:
        # While a group rebalances no member has an assignment.
        return []
    (version,) = _VERSION.unpack_from(data)
    known = declaration_of(ConsumerProtocolAssignment).versions.highest
    try:
        # New versions only append fields.
        assignment, _ = decode(ConsumerProtocolAssignment, min(version, known), data, _VERSION.size)
    except (MalformedMessage, ValueError):
        return []
    return assigned((each.topic, each.partitions) for each in assignment.assigned_partitions)
