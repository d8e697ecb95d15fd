"""LeaveGroup (key 13): remove members from a classic group.

Behaviour: several members may leave in one request, which costs one rebalance. A static member can
be removed by its instance id alone.

Version notes: before 3 one member, whose error is that of the response. A reason from 5.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

NEEDS = checked(READ_GROUP)

_MEMBERS_VERSION_MIN = 3


def handle(broker: Broker, caller: Caller, request: LeaveGroupRequest) -> Answer[LeaveGroupResponse]:
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    answer = broker.groups.run(
        request.group_id, lambda machine, now_ms: machine.classic.leave(request, version=caller.version, now_ms=now_ms)
    )
    return answer.map(lambda response: _answer(response, caller.version))


def _answer(response: LeaveGroupResponse | ErrorCode, version: int) -> LeaveGroupResponse:
    if isinstance(response, ErrorCode):
        return LeaveGroupResponse(error_code=client_error(response))
    if version < _MEMBERS_VERSION_MIN:
        error = next((each.error_code for each in response.members if each.error_code), response.error_code)
        return LeaveGroupResponse(error_code=error)
    return response
