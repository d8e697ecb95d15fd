"""A share group as its coordinator describes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from barnabas.cli.cluster.broker_requests import Broker, Brokers, CoordinatorOf, refuse_error
from barnabas.cli.errors import Refused
from barnabas.cli.groups.description import Partitions
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.share_group_describe import DescribedGroup, Member, ShareGroupDescribeRequest, ShareGroupDescribeResponse


class ShareGroupState(StrEnum):
    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class ShareGroupMember:
    member_id: str
    client_id: str
    host: str
    epoch: int
    topics: tuple[str, ...]
    assignment: Partitions


@dataclass(frozen=True, slots=True)
class ShareGroupDescription:
    group_id: str
    state: str
    assignor: str
    coordinator: Broker
    members: tuple[ShareGroupMember, ...]
    epoch: int
    target_epoch: int


def describe_share_group(brokers: Brokers, group_id: str) -> ShareGroupDescription | None:
    """None when there is no share group with that name."""
    response: ShareGroupDescribeResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP,
        group_id,
        ShareGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False),
        codes=lambda response: (each.error_code for each in response.groups),
    )
    group: DescribedGroup = response.groups[0]
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    refuse_error(group.error_code, group.error_message, f"Cannot describe share group {group_id}")
    return ShareGroupDescription(
        group_id,
        group.group_state,
        group.assignor_name,
        brokers.coordinator(CoordinatorOf.GROUP, group_id),
        tuple(_member(each) for each in sorted(group.members, key=lambda each: each.member_id)),
        group.group_epoch,
        group.assignment_epoch,
    )


def existing_share_group(brokers: Brokers, group_id: str) -> ShareGroupDescription:
    described = describe_share_group(brokers, group_id)
    if described is None:
        raise Refused(f"There is no share group {group_id}.")
    return described


def _member(member: Member) -> ShareGroupMember:
    assigned = {topic.topic_name: tuple(sorted(topic.partitions)) for topic in member.assignment.topic_partitions}
    return ShareGroupMember(
        member.member_id,
        member.client_id,
        member.client_host,
        member.member_epoch,
        tuple(sorted(member.subscribed_topic_names)),
        dict(sorted(assigned.items())),
    )
