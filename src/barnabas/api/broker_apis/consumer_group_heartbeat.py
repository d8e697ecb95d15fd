"""ConsumerGroupHeartbeat (key 68): everything a member of a consumer group says, and everything it is told (KIP-848).

Behaviour:
- epoch 0 joins, -1 leaves, -2 is a static member that will be back; any other is the member's own, and who comes with another is fenced;
- what a request leaves out has not changed; the answer has an assignment only when it changed, or when the member said everything;
- a group that only takes classic members is GROUP_ID_NOT_FOUND;
- a cluster that does not take this protocol says UNSUPPORTED_VERSION.

Version notes: in 0 the coordinator chooses the member's id when it joins without one; from 1 on the member must. Patterns from 1.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.consumer_protocol import consumer_protocol_is_served
from barnabas.api.coordinator_errors import told
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse


def handle(broker: Broker, caller: Caller, request: ConsumerGroupHeartbeatRequest) -> Answer[ConsumerGroupHeartbeatResponse]:
    if not consumer_protocol_is_served(broker):
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    answer = broker.groups.run(
        request.group_id,
        lambda machine, now_ms: machine.consumer.heartbeat(
            request, version=caller.version, client_id=caller.client_id or "", client_host=caller.host, now_ms=now_ms
        ),
    )
    return answer.map(lambda response: _refused(told(response)) if isinstance(response, ErrorCode) else response)


def _refused(error: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(throttle_time_ms=0, error_code=error, member_epoch=0, heartbeat_interval_ms=0)
