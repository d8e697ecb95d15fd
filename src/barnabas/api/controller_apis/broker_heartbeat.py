"""BrokerHeartbeat (key 63): a broker lives, wants to be fenced, or wants to stop.

Behaviour:
- decided by the active controller; a stranger and a zombie get STALE_BROKER_EPOCH;
- the answer says whether the broker is fenced, and when it may stop.

Version notes: failed directories from 1, cordoned ones from 2.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse


def handle(broker: Broker, caller: Caller, request: BrokerHeartbeatRequest) -> Promise[BrokerHeartbeatResponse]:
    return broker.controller.submit(request)
