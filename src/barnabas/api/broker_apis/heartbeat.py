"""Heartbeat (key 12): keep a classic member's session alive; the response reports a rebalance.

Behaviour: while the group's shard is being loaded, every heartbeat succeeds, because sessions start
again when loading ends.

Version notes: static members from 3.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

NEEDS = checked(READ_GROUP)


def handle(broker: Broker, caller: Caller, request: HeartbeatRequest) -> Answer[HeartbeatResponse]:
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    return broker.groups.run(request.group_id, lambda machine, now_ms: machine.classic.heartbeat(request, now_ms=now_ms)).map(_answer)


def _answer(response: HeartbeatResponse | ErrorCode) -> HeartbeatResponse:
    if not isinstance(response, ErrorCode):
        return response
    return HeartbeatResponse(error_code=ErrorCode.NONE if response is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else client_error(response))
