"""CreatePartitions (key 37): more partitions for topics. Decided by the controller; this broker passes the request on."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse


def handle(broker: Broker, caller: Caller, request: CreatePartitionsRequest) -> Promise[CreatePartitionsResponse]:
    return broker.controller.submit(request, caller)
