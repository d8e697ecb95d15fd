"""CreateTopics (key 19): create topics.

Behaviour: the controller decides; this broker forwards the request. Each topic has its own result.
With ``validate_only`` the controller checks the request and creates nothing. A caller that may
create a topic, but not describe its settings, gets the result without them.

Version notes: from 4 the client may leave the number of partitions and the replication factor to
the broker, as -1 (KIP-464). From 5 the response has the settings of each new topic (KIP-525); 5 is
flexible. 6 permits THROTTLING_QUOTA_EXCEEDED (KIP-599). Topic ids from 7.
"""

from __future__ import annotations

from barnabas.api.access import EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.needs import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

NEEDS = checked(CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS)


def handle(broker: Broker, caller: Caller, request: CreateTopicsRequest) -> Promise[CreateTopicsResponse]:
    access = broker.access
    if not access.enabled:
        return broker.controller.submit(request, caller)
    names = [topic.name for topic in request.topics]
    may_create = EVERYTHING if access.may(caller, CREATE_CLUSTER, filters=True) else access.allowed(caller, CREATE_TOPIC, names)
    may_describe = access.allowed(caller, DESCRIBE_TOPIC_CONFIGS, names, filters=True)
    # The same message for each, and one result for a name that is repeated.
    denied = [_denied(name) for name in dict.fromkeys(names) if name not in may_create]
    request.topics = [topic for topic in request.topics if topic.name in may_create]

    def answer(response: CreateTopicsResponse) -> CreateTopicsResponse:
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE and topic.name not in may_describe:
                _hide_settings(topic)
        response.topics += denied
        return response

    return broker.controller.submit(request, caller).map(answer)


def _denied(name: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message="Authorization failed.")


def _hide_settings(topic: CreatableTopicResult) -> None:
    topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic.num_partitions, topic.replication_factor, topic.configs = -1, -1, []
