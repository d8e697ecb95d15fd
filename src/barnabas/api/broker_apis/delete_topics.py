"""DeleteTopics (key 20): topics away, by name or by id. Decided by the controller; this broker passes the request on."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


def handle(broker: Broker, caller: Caller, request: DeleteTopicsRequest) -> Promise[DeleteTopicsResponse]:
    return broker.controller.submit(request, caller)
