"""CreateTopics (key 19): new topics, one by one: each has its own outcome. Decided by the controller; this broker passes the request on."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse


def handle(broker: Broker, caller: Caller, request: CreateTopicsRequest) -> Promise[CreateTopicsResponse]:
    return broker.controller.submit(request, caller)
