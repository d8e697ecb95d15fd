"""BrokerRegistration (key 62): a broker process announces itself and is given its epoch.

Behaviour:
- decided by the active controller; a broker id that is heard of belongs to that process alone (DUPLICATE_BROKER_REGISTRATION);
- the broker is fenced until its heartbeats say that it has read its own registration.

Version notes: directories from 2, the epoch before (a clean stop) from 3. Without it every restart counts as unclean.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse


def handle(broker: Broker, caller: Caller, request: BrokerRegistrationRequest) -> Promise[BrokerRegistrationResponse]:
    return broker.controller.submit(request)
