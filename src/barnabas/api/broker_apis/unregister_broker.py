"""UnregisterBroker (key 64): a broker that will not come back is forgotten.

Behaviour:
- decided by the controller; this broker passes the request on;
- its replicas stay assigned to it: they are out of sync until they are moved.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def handle(broker: Broker, caller: Caller, request: UnregisterBrokerRequest) -> Promise[UnregisterBrokerResponse]:
    return broker.controller.submit(request, caller)
