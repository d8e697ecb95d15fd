"""CreatePartitions (key 37): add partitions to topics.

Behaviour: the controller decides; this broker forwards the request. Each topic has its own result.
With ``validate_only`` the controller checks the request and creates nothing.

Version notes: the fields are the same in all versions; 2 is flexible. 3 permits
THROTTLING_QUOTA_EXCEEDED (KIP-599).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import ALTER_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopicResult

NEEDS = checked(ALTER_TOPIC)


def handle(broker: Broker, caller: Caller, request: CreatePartitionsRequest) -> Promise[CreatePartitionsResponse]:
    if not broker.access.enabled:
        return broker.controller.submit(request, caller)
    names = [topic.name for topic in request.topics]
    may_alter = broker.access.allowed(caller, ALTER_TOPIC, names)
    denied = [_denied(name) for name in dict.fromkeys(names) if name not in may_alter]
    request.topics = [topic for topic in request.topics if topic.name in may_alter]

    def answer(response: CreatePartitionsResponse) -> CreatePartitionsResponse:
        response.results += denied
        return response

    return broker.controller.submit(request, caller).map(answer)


def _denied(name: str) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=None)
