"""SyncGroup (key 14): the leader hands out assignments, everybody receives theirs once they are committed.

Behaviour: members that ask before the leader wait for it; when the group changes meanwhile they are told REBALANCE_IN_PROGRESS.

Version notes: static members from 3. From 5 on the member says which protocol it believes in, must say it, and is told
INCONSISTENT_GROUP_PROTOCOL where it errs.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import told
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_VERSION_MIN = 5


def handle(broker: Broker, caller: Caller, request: SyncGroupRequest) -> Answer[SyncGroupResponse]:
    if caller.version >= _PROTOCOL_VERSION_MIN and (request.protocol_type is None or request.protocol_name is None):
        return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        return _refused(ErrorCode.INVALID_GROUP_ID)
    return broker.groups.run(request.group_id, lambda machine, now_ms: machine.classic.sync(request, now_ms=now_ms)).map(_answer)


def _answer(response: SyncGroupResponse | ErrorCode) -> SyncGroupResponse:
    if isinstance(response, ErrorCode):
        return _refused(told(response))
    # What refused the leader's assignments refused everybody who waited for them.
    return _refused(told(ErrorCode(response.error_code))) if response.error_code else response


def _refused(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error, assignment=b"")
