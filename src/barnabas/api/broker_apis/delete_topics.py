"""DeleteTopics (key 20): delete topics by name or by id.

Behaviour: the controller decides; this broker forwards the request. Each topic has its own result.

Version notes: 4 is flexible. Error messages from 5, which also permits THROTTLING_QUOTA_EXCEEDED
(KIP-599). Topics by id from 6.
"""

from __future__ import annotations

from barnabas.api.access import EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.needs import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

NEEDS = checked(DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: DeleteTopicsRequest) -> Promise[DeleteTopicsResponse]:
    access = broker.access
    if not access.enabled:
        return broker.controller.submit(request, caller)
    by_id = broker.metadata.image.topics.by_id
    # Only one of the two lists is filled, depending on the version.
    known = {topic.topic_id: by_id[topic.topic_id].name for topic in request.topics if topic.name is None and topic.topic_id in by_id}
    names = [*request.topic_names, *(topic.name for topic in request.topics if topic.name is not None), *known.values()]
    may_delete = EVERYTHING if access.may(caller, DELETE_CLUSTER, filters=True) else access.allowed(caller, DELETE_TOPIC, names)
    may_describe = access.allowed(caller, DESCRIBE_TOPIC, known.values(), filters=True)

    def is_denied(topic: DeleteTopicState) -> bool:
        name = topic.name if topic.name is not None else known.get(topic.topic_id)
        return name is not None and name not in may_delete

    denied = [_denied(name, ZERO_UUID) for name in request.topic_names if name not in may_delete]
    for topic in request.topics:
        if is_denied(topic):
            # A caller that may not describe the topic does not learn its name.
            name = topic.name or known[topic.topic_id]
            denied.append(_denied(name if topic.name is not None or name in may_describe else None, topic.topic_id))
    request.topic_names = [name for name in request.topic_names if name in may_delete]
    request.topics = [topic for topic in request.topics if not is_denied(topic)]

    def answer(response: DeleteTopicsResponse) -> DeleteTopicsResponse:
        response.responses += denied
        return response

    return broker.controller.submit(request, caller).map(answer)


def _denied(name: str | None, topic_id: Uuid) -> DeletableTopicResult:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message="Topic authorization failed.")
