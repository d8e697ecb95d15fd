"""JoinGroup (key 11): enter a classic group, and wait with the others for its next generation.

Behaviour:
- the answer comes when everybody has joined or the time for it is over; the leader's has all members in it;
- a member that is not known by then is gone: UNKNOWN_MEMBER_ID;
- any protocol type is served (Connect, registries): what members say under a protocol is for their leader to understand.

Version notes: one timeout for session and rebalance in 0. From 4 on a dynamic member is given its id first, with MEMBER_ID_REQUIRED, and
joins with it. Static members from 5. The protocol's name may be null from 7. From 9 a static leader that returns is told to skip the
assignment.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import told
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_NULL_PROTOCOL_VERSION_MIN = 7
_SKIP_ASSIGNMENT_VERSION_MIN = 9


def handle(broker: Broker, caller: Caller, request: JoinGroupRequest) -> Answer[JoinGroupResponse]:
    if not request.group_id:
        return _for_version(_refused(request, ErrorCode.INVALID_GROUP_ID), caller.version)
    answer = broker.groups.run(
        request.group_id,
        lambda machine, now_ms: machine.classic.join(
            request, version=caller.version, client_id=caller.client_id or "", client_host=caller.host, now_ms=now_ms
        ),
    )
    return answer.map(
        lambda response: _for_version(
            _refused(request, response) if isinstance(response, ErrorCode) else response,
            caller.version,
        )
    )


def _for_version(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    """A copy: a join that was repeated shares its answer with the first, and the two need not have come in one version."""
    name = response.protocol_name
    return JoinGroupResponse(
        error_code=told(ErrorCode(response.error_code)),
        generation_id=response.generation_id,
        protocol_type=response.protocol_type,
        protocol_name="" if name is None and version < _NULL_PROTOCOL_VERSION_MIN else name,
        leader=response.leader,
        skip_assignment=response.skip_assignment and version >= _SKIP_ASSIGNMENT_VERSION_MIN,
        member_id=response.member_id,
        members=response.members,
    )


def _refused(request: JoinGroupRequest, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, protocol_name=None, leader="", member_id=request.member_id, members=[])
