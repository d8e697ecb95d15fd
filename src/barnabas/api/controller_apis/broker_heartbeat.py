"""BrokerHeartbeat (key 63): a broker is alive, wants to be fenced, or wants to shut down.

Behaviour:
- the active controller decides. STALE_BROKER_EPOCH for an unregistered broker and for a former
  process of a registered one;
- when the connection of a broker's heartbeats closes, and its machine says that no process listens
  there, the controller fences it at once (:mod:`barnabas.controller.absent_brokers`);
- the response says whether the broker is fenced, and when it may shut down.

Version notes: failed directories from 1, cordoned directories from 2.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: BrokerHeartbeatRequest) -> Promise[BrokerHeartbeatResponse]:
    return broker.controller.submit(request, caller)
