"""CreateTopics (key 19): create topics.

Behaviour: the controller decides; this broker forwards the request. Each topic has its own result.
With ``validate_only`` the controller checks the request and creates nothing.

Version notes: from 4 the client may leave the number of partitions and the replication factor to
the broker, as -1 (KIP-464). From 5 the response has the settings of each new topic (KIP-525); 5 is
flexible. 6 permits THROTTLING_QUOTA_EXCEEDED (KIP-599). Topic ids from 7.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse


def handle(broker: Broker, caller: Caller, request: CreateTopicsRequest) -> Promise[CreateTopicsResponse]:
    return broker.controller.submit(request, caller)
