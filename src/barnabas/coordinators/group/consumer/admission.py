"""Admission of a heartbeat: its fields, its epoch, its instance id.

epoch   means               must bring
 0      join or rejoin      rebalance timeout, an empty list of partitions, topics or a pattern
>0      stay                a member id of the group, with its current or previous epoch
-1      leave               a member id
-2      leave for a while   an instance id
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, NO_REBALANCE_TIMEOUT, STATIC_LEAVE_EPOCH, ConsumerMember
from barnabas.coordinators.group.refusal import Refusal
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

MEMBER_CHOOSES_ID_SINCE_VERSION = 1


def check_request(request: ConsumerGroupHeartbeatRequest, *, version: int, assignors: Sequence[str]) -> Refusal | None:
    problem = _why_invalid(request, version)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        supported = ", ".join(assignors)
        message = f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {supported}."
        return Refusal(ErrorCode.UNSUPPORTED_ASSIGNOR, message)
    return None


def _why_invalid(request: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    needs_member_id = version >= MEMBER_CHOOSES_ID_SINCE_VERSION or request.member_epoch > 0 or request.member_epoch == LEAVE_EPOCH
    if needs_member_id and not request.member_id:
        return "MemberId can't be empty."
    if not request.group_id:
        return "GroupId can't be empty."
    if request.instance_id == "":
        return "InstanceId can't be empty."
    if request.rack_id == "":
        return "RackId can't be empty."
    if request.member_epoch < STATIC_LEAVE_EPOCH:
        return "MemberEpoch is invalid."
    if request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        return "InstanceId can't be null."
    return _why_invalid_join(request) if request.member_epoch == JOIN_EPOCH else None


def _why_invalid_join(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == NO_REBALANCE_TIMEOUT:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return None


def admit(
    change: GroupChange,
    member_id: str,
    *,
    instance_id: str | None,
    epoch: int,
    reported: AbstractSet[IdPartition] | None,
    classic: bool = False,
) -> ConsumerMember | Refusal:
    """The member of a heartbeat, as it was before. A client that joins with the instance id of a
    static member replaces it.
    """
    if instance_id is None:
        member = change.member(member_id)
        if member is None and epoch != JOIN_EPOCH:
            return unknown(change.group_id, member_id)
        return check_epoch(member or ConsumerMember(member_id), epoch, reported)
    if epoch != JOIN_EPOCH:
        holder = static_member(change.group, member_id, instance_id)
        return holder if isinstance(holder, Refusal) else check_epoch(holder, epoch, reported)
    return _replace_static(change, member_id, instance_id, classic=classic)


def _replace_static(change: GroupChange, member_id: str, instance_id: str, *, classic: bool) -> ConsumerMember | Refusal:
    """Members of the consumer protocol announce that they leave for a while; classic ones just
    return.
    """
    holder_id = change.group.instances.get(instance_id)
    if holder_id is None:
        return change.member(member_id) or ConsumerMember(member_id)
    holder = change.members[holder_id]
    if not classic and holder.classic is None and holder.epoch != STATIC_LEAVE_EPOCH:
        message = (
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is owned by "
            f"{holder_id} member."
        )
        return Refusal(ErrorCode.UNRELEASED_INSTANCE_ID, message)
    return change.rename(holder, member_id)


def check_epoch(member: ConsumerMember, epoch: int, reported: AbstractSet[IdPartition] | None) -> ConsumerMember | Refusal:
    """The member, unless it is a zombie. Its previous epoch is accepted while it owns only its
    assigned partitions: then the response with the new epoch was lost.
    """
    if epoch in (JOIN_EPOCH, member.epoch):
        return member
    greater = epoch > member.epoch
    if not greater and epoch == member.ownership.previous_epoch and reported is not None and reported <= member.ownership.assigned.keys():
        return member
    message = (
        f"The consumer group member has a {'greater' if greater else 'smaller'} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
    )
    return Refusal(ErrorCode.FENCED_MEMBER_EPOCH, message)


def static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember | Refusal:
    holder_id = group.instances.get(instance_id)
    if holder_id is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder_id != member_id:
        message = f"Static member {member_id} with instance id {instance_id} was fenced by member {holder_id}."
        return Refusal(ErrorCode.FENCED_INSTANCE_ID, message)
    return group.members[holder_id]


def unknown(group_id: str, member_id: str) -> Refusal:
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")
