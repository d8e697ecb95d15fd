"""Admission of a heartbeat: its fields and its epoch.

epoch   means               must bring
 0      join or rejoin      topics
>0      stay                a member id of the group, with its current or previous epoch
-1      leave               a member id of the group
"""

from __future__ import annotations

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.share.member import JOIN_EPOCH, LEAVE_EPOCH, ShareMember
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


def check_request(request: ShareGroupHeartbeatRequest) -> Refusal | None:
    problem = _why_invalid(request)
    return Refusal(ErrorCode.INVALID_REQUEST, problem) if problem is not None else None


def _why_invalid(request: ShareGroupHeartbeatRequest) -> str | None:
    if not request.member_id.strip():
        return "MemberId can't be empty."
    if not request.group_id.strip():
        return "GroupId can't be empty."
    if request.rack_id is not None and not request.rack_id.strip():
        return "RackId can't be empty."
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        return "SubscribedTopicNames must be set in first request."
    if request.member_epoch < LEAVE_EPOCH:
        return "MemberEpoch is invalid."
    return None


def admit(group: ShareGroup, member_id: str, epoch: int) -> ShareMember | Refusal:
    """The member of a heartbeat, as it was before. Its previous epoch is accepted, because the
    response with the new one may have been lost.
    """
    member = group.members.get(member_id)
    if member is None:
        return ShareMember(member_id) if epoch == JOIN_EPOCH else unknown(group.group_id, member_id)
    if epoch in (JOIN_EPOCH, member.epoch):
        return member
    if epoch > member.epoch:
        message = (
            f"The share group member has a greater member epoch ({epoch}) than the one known by the group coordinator ({member.epoch}). "
            "The member must abandon all its partitions and rejoin."
        )
        return Refusal(ErrorCode.FENCED_MEMBER_EPOCH, message)
    if epoch == member.assignment.previous_epoch:
        return member
    message = (
        f"The share group member has a smaller member epoch ({epoch}) than the one known by the group coordinator ({member.epoch}), "
        f"and it does not match the previous member epoch ({member.assignment.previous_epoch}). "
        "The member must abandon all its partitions and rejoin."
    )
    return Refusal(ErrorCode.FENCED_MEMBER_EPOCH, message)


def unknown(group_id: str, member_id: str) -> Refusal:
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")
