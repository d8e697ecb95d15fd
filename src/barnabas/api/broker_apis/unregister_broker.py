"""UnregisterBroker (key 64): remove the registration of a broker that will not return.

Behaviour:
- the controller decides; this broker forwards the request;
- the replicas of the broker stay assigned to it, out of sync, until they are reassigned.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: UnregisterBrokerRequest) -> Promise[UnregisterBrokerResponse]:
    return broker.controller.submit(request, caller)
