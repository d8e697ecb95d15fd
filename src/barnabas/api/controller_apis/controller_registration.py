"""ControllerRegistration (key 70): a controller registers its endpoints and its supported features.

Behaviour: the active controller decides. A newer registration of the same id replaces the older
one.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest, ControllerRegistrationResponse

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: ControllerRegistrationRequest) -> Promise[ControllerRegistrationResponse]:
    return broker.controller.submit(request)
