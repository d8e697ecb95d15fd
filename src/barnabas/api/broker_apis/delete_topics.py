"""DeleteTopics (key 20): delete topics by name or by id.

Behaviour:
- the controller decides; this broker forwards the request. Each topic has its own result;
- a topic that the caller may not describe looks the same whether it exists or not. A caller that
  may describe a topic, and not delete it, is only denied if the topic exists.

Version notes: 4 is flexible. Error messages from 5, which also permits THROTTLING_QUOTA_EXCEEDED
(KIP-599). Topics by id from 6.
"""

from __future__ import annotations

from collections.abc import Container

from barnabas.api.access import EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.needs import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse

NEEDS = checked(DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: DeleteTopicsRequest) -> Promise[DeleteTopicsResponse]:
    access = broker.access
    if not access.enabled:
        return broker.controller.submit(request, caller)
    by_id = broker.metadata.image.topics.by_id
    # Only one of the two lists is filled, depending on the version.
    known = {topic.topic_id: by_id[topic.topic_id].name for topic in request.topics if topic.name is None and topic.topic_id in by_id}
    named = [*request.topic_names, *(topic.name for topic in request.topics if topic.name is not None)]
    may_delete = may_describe = EVERYTHING
    if not access.may(caller, DELETE_CLUSTER, filters=True):
        may_describe = access.allowed(caller, DESCRIBE_TOPIC, [*named, *known.values()])
        may_delete = access.allowed(caller, DELETE_TOPIC, [*named, *known.values()])
    refused_names = {name for name in named if name not in may_describe or name not in may_delete}
    refused_ids = {topic_id for topic_id, name in known.items() if name not in may_delete}
    refused = [_refused(broker, name, may_describe) for name in named if name in refused_names]
    # The controller's image may know an id that this one does not know yet, and then nothing here
    # could say whether the caller may delete that topic.
    unknown = [each.topic_id for each in request.topics if each.name is None and each.topic_id not in known]
    refused += [_unknown_id(each) for each in unknown]
    # A caller that may not describe a topic does not learn its name.
    refused += [_denied(known[each] if known[each] in may_describe else None, each) for each in known if each in refused_ids]
    request.topic_names = [name for name in request.topic_names if name not in refused_names]
    request.topics = [
        each
        for each in request.topics
        if (each.topic_id in known and each.topic_id not in refused_ids if each.name is None else each.name not in refused_names)
    ]

    def answer(response: DeleteTopicsResponse) -> DeleteTopicsResponse:
        response.responses += refused
        return response

    return broker.controller.submit(request, caller).map(answer)


def _refused(broker: Broker, name: str, may_describe: Container[str]) -> DeletableTopicResult:
    """A caller that may describe a topic also learns that it does not exist."""
    if name not in may_describe or name in broker.metadata.image.topics.by_name:
        return _denied(name, ZERO_UUID)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DeletableTopicResult(name=name, topic_id=ZERO_UUID, error_code=code, error_message="This topic does not exist.")


def _unknown_id(topic_id: Uuid) -> DeletableTopicResult:
    code = ErrorCode.UNKNOWN_TOPIC_ID
    return DeletableTopicResult(name=None, topic_id=topic_id, error_code=code, error_message="No topic has this id.")


def _denied(name: str | None, topic_id: Uuid) -> DeletableTopicResult:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message="Topic authorization failed.")
