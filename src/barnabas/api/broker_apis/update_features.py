"""UpdateFeatures (key 57): feature levels of the whole cluster. Decided by the controller; this broker passes the request on."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


def handle(broker: Broker, caller: Caller, request: UpdateFeaturesRequest) -> Promise[UpdateFeaturesResponse]:
    return broker.controller.submit(request, caller)
