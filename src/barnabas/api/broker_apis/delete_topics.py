"""DeleteTopics (key 20): delete topics by name or by id.

Behaviour: the controller decides; this broker forwards the request. Each topic has its own result.

Version notes: 4 is flexible. Error messages from 5, which also permits THROTTLING_QUOTA_EXCEEDED
(KIP-599). Topics by id from 6.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


def handle(broker: Broker, caller: Caller, request: DeleteTopicsRequest) -> Promise[DeleteTopicsResponse]:
    return broker.controller.submit(request, caller)
