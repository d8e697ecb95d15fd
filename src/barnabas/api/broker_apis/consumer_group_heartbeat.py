"""ConsumerGroupHeartbeat (key 68): the whole protocol of a member of a consumer group (KIP-848).

Behaviour:
- member epoch 0 joins, -1 leaves, and -2 is a static member that leaves for a while. Any other
  epoch must be the member's own, or the member is fenced;
- a field that the request leaves out has not changed. The response carries an assignment only if it
  changed, or if the member sent all its fields;
- GROUP_ID_NOT_FOUND for a group that only takes classic members;
- TOPIC_AUTHORIZATION_FAILED if the member names a topic that it may not describe. A regular
  expression matches only topics that it may describe;
- UNSUPPORTED_VERSION from a cluster that does not serve this protocol.

Version notes: in 0 the coordinator generates the member id of a member that joins without one; from
1 the member must choose it. Regular expressions from 1.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.consumer_protocol import consumer_protocol_is_served
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_TOPIC, READ_GROUP, checked
from barnabas.coordinators.group.consumer.visible_topics import VisibleTopics
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

NEEDS = checked(READ_GROUP, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: ConsumerGroupHeartbeatRequest) -> Answer[ConsumerGroupHeartbeatResponse]:
    if not consumer_protocol_is_served(broker):
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    names = request.subscribed_topic_names or ()
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, names)
    if any(name not in may_describe for name in names):
        return _refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    visible = VisibleTopics(broker.access.names_allowed(caller, DESCRIBE_TOPIC), broker.access.version)
    answer = broker.groups.run(
        request.group_id,
        lambda machine, now_ms: machine.consumer.heartbeat(
            request, version=caller.version, client_id=caller.client_id or "", client_host=caller.host, visible=visible, now_ms=now_ms
        ),
    )
    # Without other replicas the records are committed already, and no second promise is needed.
    return _response(answer.value) if answer.done else answer.map(_response)


def _response(answered: ConsumerGroupHeartbeatResponse | ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return _refused(client_error(answered)) if isinstance(answered, ErrorCode) else answered


def _refused(error: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(throttle_time_ms=0, error_code=error, member_epoch=0, heartbeat_interval_ms=0)
