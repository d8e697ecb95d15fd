"""DeleteTopics (key 20): topics away, by name or by id. Decided by the controller; this broker passes the request on."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.promise import Promise
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


def handle(broker: Broker, context: RequestContext, request: DeleteTopicsRequest) -> Promise[DeleteTopicsResponse]:
    return broker.controller.submit(request, context)
