"""ShareGroupHeartbeat (key 76): the membership of a share group (KIP-932).

Behaviour:
- member epoch 0 joins and creates the group, -1 leaves. Any other epoch must be the member's
  current or previous one, or the member is fenced;
- a field that the request leaves out has not changed. The response carries an assignment only if it
  changed, or if the member sent its topics;
- a new partition is assigned once the share coordinator has state for it, so the first response of
  a new group has no partitions;
- GROUP_ID_NOT_FOUND for a group of another kind;
- TOPIC_AUTHORIZATION_FAILED if the member names a topic that it may not describe;
- UNSUPPORTED_VERSION from a cluster that does not serve share groups.

Version notes: version 0 was for early access and is gone.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_TOPIC, READ_GROUP, checked
from barnabas.api.share_protocol import is_member_id, share_groups_are_served
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

NEEDS = checked(READ_GROUP, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: ShareGroupHeartbeatRequest) -> Answer[ShareGroupHeartbeatResponse]:
    if not share_groups_are_served(broker):
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not is_member_id(request.member_id):
        return _refused(ErrorCode.INVALID_REQUEST)
    names = request.subscribed_topic_names or ()
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, names)
    if any(name not in may_describe for name in names):
        return _refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    answer = broker.groups.run(
        request.group_id,
        lambda machine, now_ms: machine.share.heartbeat(request, client_id=caller.client_id or "", client_host=caller.host, now_ms=now_ms),
    )
    return answer.map(lambda response: _refused(client_error(response)) if isinstance(response, ErrorCode) else response)


def _refused(error: ErrorCode) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(throttle_time_ms=0, error_code=error, member_epoch=0, heartbeat_interval_ms=0)
