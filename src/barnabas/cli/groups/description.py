"""A group as its coordinator describes it, for both group protocols.

Groups of the new protocol and classic groups are described by different requests, and each request
returns "no such group" for the other kind. Of classic groups, only consumers have assignments that
this module can decode: the bytes that Connect or a registry puts there are private to them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Broker, Brokers, CoordinatorOf, refuse_error
from barnabas.model.errors import ErrorCode
from barnabas.wire.compiler import decode
from barnabas.wire.declare import declaration_of
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolAssignment
from barnabas.wire.messages import consumer_group_describe as new_protocol, describe_groups as classic
from barnabas.wire.tagged_fields import MalformedMessage

_VERSION = struct.Struct(">h")
_CONSUMER_PROTOCOL = "consumer"
# Errors that a coordinator returns for a group of the other protocol, or while the new protocol is
# switched off.
_NOT_OF_THIS_KIND = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})

Partitions = Mapping[str, tuple[int, ...]]


class GroupKind(StrEnum):
    CLASSIC = "Classic"
    CONSUMER = "Consumer"
    SHARE = "Share"
    STREAMS = "Streams"


class GroupState(StrEnum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: Partitions
    # Only members of the new protocol have these two: a classic member gets its partitions in one
    # step.
    epoch: int | None = None
    target: Partitions | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    kind: GroupKind
    protocol_type: str
    state: str
    assignor: str
    coordinator: Broker
    members: tuple[GroupMember, ...]
    epoch: int | None = None
    target_epoch: int | None = None

    def owners(self) -> dict[Partition, GroupMember]:
        assigned = ((each, topic, numbers) for each in self.members for topic, numbers in each.assignment.items())
        return {Partition(topic, number): each for each, topic, numbers in assigned for number in numbers}


def describe_group(brokers: Brokers, group_id: str) -> GroupDescription | None:
    """None when there is no group of consumers with that name."""
    return _describe_new_protocol(brokers, group_id) or _describe_classic(brokers, group_id)


def _describe_new_protocol(brokers: Brokers, group_id: str) -> GroupDescription | None:
    request = new_protocol.ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
    group: new_protocol.DescribedGroup = _ask(brokers, group_id, request)
    if group.error_code in _NOT_OF_THIS_KIND:
        return None
    refuse_error(group.error_code, group.error_message, f"Cannot describe group {group_id}")
    members = tuple(
        GroupMember(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            _partitions((topic.topic_name, topic.partitions) for topic in each.assignment.topic_partitions),
            each.member_epoch,
            _partitions((topic.topic_name, topic.partitions) for topic in each.target_assignment.topic_partitions),
        )
        for each in sorted(group.members, key=lambda each: each.member_id)
    )
    coordinator = brokers.coordinator(CoordinatorOf.GROUP, group_id)
    return GroupDescription(
        group_id,
        GroupKind.CONSUMER,
        _CONSUMER_PROTOCOL,
        group.group_state,
        group.assignor_name,
        coordinator,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def _describe_classic(brokers: Brokers, group_id: str) -> GroupDescription | None:
    group: classic.DescribedGroup = _ask(brokers, group_id, classic.DescribeGroupsRequest(groups=[group_id]))
    # Before version 6 a missing group was described as dead.
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or (group.error_code == ErrorCode.NONE and group.group_state == GroupState.DEAD):
        return None
    refuse_error(group.error_code, group.error_message, f"Cannot describe group {group_id}")
    members = tuple(
        GroupMember(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            read_assignment(each.member_assignment) if group.protocol_type == _CONSUMER_PROTOCOL else {},
        )
        for each in sorted(group.members, key=lambda each: each.member_id)
    )
    coordinator = brokers.coordinator(CoordinatorOf.GROUP, group_id)
    return GroupDescription(group_id, GroupKind.CLASSIC, group.protocol_type, group.group_state, group.protocol_data, coordinator, members)


def read_assignment(data: bytes) -> Partitions:
    """The partitions that the leader of a classic group assigned to a consumer. Empty when the
    bytes are not a consumer's assignment."""
    if len(data) < _VERSION.size:
        # While a group rebalances no member has an assignment.
        return {}
    (version,) = _VERSION.unpack_from(data)
    known = declaration_of(ConsumerProtocolAssignment).versions.highest
    try:
        # New versions only append fields.
        assignment, _ = decode(ConsumerProtocolAssignment, min(version, known), data, _VERSION.size)
    except (MalformedMessage, ValueError):
        return {}
    return _partitions((each.topic, each.partitions) for each in assignment.assigned_partitions)


def _ask(brokers: Brokers, group_id: str, request: Any) -> Any:
    response = brokers.ask_coordinator(
        CoordinatorOf.GROUP, group_id, request, codes=lambda response: (each.error_code for each in response.groups)
    )
    (group,) = response.groups
    return group


def _partitions(topics: Iterable[tuple[str, list[int]]]) -> Partitions:
    return {topic: tuple(sorted(partitions)) for topic, partitions in sorted(topics)}
