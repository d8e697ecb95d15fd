"""JoinGroup (key 11): join a classic group and wait for its next generation.

Behaviour:
- the response is sent when all members have joined or the rebalance timeout has passed; the
  leader's response lists all members;
- UNKNOWN_MEMBER_ID for a member that the group has removed;
- every protocol type is served (consumers, Connect, schema registries): only the leader of the
  group interprets the metadata of its members.

Version notes: version 0 has one timeout for both session and rebalance. From 4 a dynamic member
first gets its id, with MEMBER_ID_REQUIRED, and joins again with it. Static members from 5. The
protocol name may be null from 7. From 9 a static leader that returns is asked to skip the
assignment.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

NEEDS = checked(READ_GROUP)

_NULL_PROTOCOL_VERSION_MIN = 7
_SKIP_ASSIGNMENT_VERSION_MIN = 9


def handle(broker: Broker, caller: Caller, request: JoinGroupRequest) -> Answer[JoinGroupResponse]:
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _for_version(_refused("", ErrorCode.GROUP_AUTHORIZATION_FAILED), caller.version)
    if not request.group_id:
        return _for_version(_refused(request.member_id, ErrorCode.INVALID_GROUP_ID), caller.version)
    answer = broker.groups.run(
        request.group_id,
        lambda machine, now_ms: machine.classic.join(
            request, version=caller.version, client_id=caller.client_id or "", client_host=caller.host, now_ms=now_ms
        ),
    )
    return answer.map(
        lambda response: _for_version(
            _refused(request.member_id, response) if isinstance(response, ErrorCode) else response,
            caller.version,
        )
    )


def _for_version(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    """A copy, because a repeated join shares its response with the first, and the two may differ in
    version.
    """
    name = response.protocol_name
    return JoinGroupResponse(
        error_code=client_error(ErrorCode(response.error_code)),
        generation_id=response.generation_id,
        protocol_type=response.protocol_type,
        protocol_name="" if name is None and version < _NULL_PROTOCOL_VERSION_MIN else name,
        leader=response.leader,
        skip_assignment=response.skip_assignment and version >= _SKIP_ASSIGNMENT_VERSION_MIN,
        member_id=response.member_id,
        members=response.members,
    )


def _refused(member_id: str, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, protocol_name=None, leader="", member_id=member_id, members=[])
