"""BrokerRegistration (key 62): a broker process registers and gets its broker epoch.

Behaviour:
- the active controller decides. DUPLICATE_BROKER_REGISTRATION while another process with the same
  id sends heartbeats;
- the broker is fenced until its heartbeats show that it has read its own registration.

Version notes: directories from 2. From 3 the request has the previous broker epoch, which proves a
clean shutdown; without it every restart counts as unclean.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: BrokerRegistrationRequest) -> Promise[BrokerRegistrationResponse]:
    return broker.controller.submit(request)
