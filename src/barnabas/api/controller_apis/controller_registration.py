"""ControllerRegistration (key 70): a controller says where it listens and which features it supports.

Behaviour:
- decided by the active controller; the newest registration of an id counts.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest, ControllerRegistrationResponse


def handle(broker: Broker, caller: Caller, request: ControllerRegistrationRequest) -> Promise[ControllerRegistrationResponse]:
    return broker.controller.submit(request)
