"""SyncGroup (key 14): the leader distributes assignments; every member receives its own once they
are committed.

Behaviour: members that ask before the leader wait for it. REBALANCE_IN_PROGRESS if the group
changes meanwhile.

Version notes: static members from 3. From 5 the member must name its protocol type and protocol,
and gets INCONSISTENT_GROUP_PROTOCOL if they differ from the group's.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

NEEDS = checked(READ_GROUP)

_PROTOCOL_VERSION_MIN = 5


def handle(broker: Broker, caller: Caller, request: SyncGroupRequest) -> Answer[SyncGroupResponse]:
    if caller.version >= _PROTOCOL_VERSION_MIN and (request.protocol_type is None or request.protocol_name is None):
        return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return _refused(ErrorCode.INVALID_GROUP_ID)
    return broker.groups.run(request.group_id, lambda machine, now_ms: machine.classic.sync(request, now_ms=now_ms)).map(_answer)


def _answer(response: SyncGroupResponse | ErrorCode) -> SyncGroupResponse:
    if isinstance(response, ErrorCode):
        return _refused(client_error(response))
    # An error that refuses the leader's assignments is the result of all waiting members.
    return _refused(client_error(ErrorCode(response.error_code))) if response.error_code else response


def _refused(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error, assignment=b"")
