"""LeaveGroup: removes members by their ids, or static members by their instance ids, which
administrators know.
"""

from __future__ import annotations

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.rebalancing import Rebalancing, Records
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse


def leave(rebalancing: Rebalancing, group: ClassicGroup, members: list[MemberIdentity], now_ms: int) -> Outcome[LeaveGroupResponse]:
    """All members that leave together cost one rebalance."""
    errors = [_remove(rebalancing, group, member) for member in members]
    records: Records = []
    if ErrorCode.NONE in errors and group.state is not ClassicState.EMPTY:
        records = rebalancing.proceed(group, now_ms)
    answers = [left(member, error) for member, error in zip(members, errors, strict=True)]
    return Outcome(LeaveGroupResponse(error_code=ErrorCode.NONE, members=answers), records)


def left(member: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error)


def _remove(rebalancing: Rebalancing, group: ClassicGroup, leaving: MemberIdentity) -> ErrorCode:
    member_id = leaving.member_id
    if not member_id:
        named = group.instances.get(leaving.group_instance_id) if leaving.group_instance_id is not None else None
        if named is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = named
    elif member_id not in group.pending:
        error = group.check_member(member_id, leaving.group_instance_id)
        if error:
            return error
    rebalancing.drop(group, member_id)
    return ErrorCode.NONE
