"""OffsetDelete (key 47): delete committed offsets of a group.

Behaviour:
- GROUP_SUBSCRIBED_TO_TOPIC for a topic that a member subscribes to. For protocol types other than
  "consumer" the subscriptions are unknown, so such a group must be empty, or the whole request is
  NON_EMPTY_GROUP;
- UNKNOWN_TOPIC_OR_PARTITION for a partition that does not exist. A partition without an offset is
  no error;
- the group must exist even if none of the partitions does.

Version notes: one version, which is not flexible.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DELETE_GROUP, READ_TOPIC, checked
from barnabas.api.topic_answers import existing_and_missing, merged
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

NEEDS = checked(DELETE_GROUP, READ_TOPIC)


def handle(broker: Broker, caller: Caller, request: OffsetDeleteRequest) -> Answer[OffsetDeleteResponse]:
    if not broker.access.may(caller, DELETE_GROUP, request.group_id):
        return _answer([], ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return _answer([], ErrorCode.INVALID_GROUP_ID)
    missing = _keep_existing(broker, caller, request)
    outcome = broker.groups.run(request.group_id, lambda machine, _: machine.offsets.delete(request))
    return outcome.map(lambda answer: _answer(missing, answer))


def _keep_existing(broker: Broker, caller: Caller, request: OffsetDeleteRequest) -> list[OffsetDeleteResponseTopic]:
    """Reduce the request to existing partitions of topics that the caller may read; return the
    results of the others."""
    topics = broker.metadata.image.topics.by_name
    may_read = broker.access.allowed(caller, READ_TOPIC, (topic.name for topic in request.topics))
    kept = []
    refused = []
    for topic in request.topics:
        if topic.name not in may_read:
            refused.append(_refused(topic.name, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        existing, missing = existing_and_missing(topics.get(topic.name), topic.partitions)
        if missing:
            refused.append(_refused(topic.name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        if existing:
            topic.partitions = existing
            kept.append(topic)
    request.topics = kept
    return refused


def _refused(topic: str, partitions: Sequence[OffsetDeleteRequestPartition], error: ErrorCode) -> OffsetDeleteResponseTopic:
    refused = [OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=error) for each in partitions]
    return OffsetDeleteResponseTopic(name=topic, partitions=refused)


def _answer(missing: list[OffsetDeleteResponseTopic], outcome: OffsetDeleteResponse | ErrorCode) -> OffsetDeleteResponse:
    if isinstance(outcome, ErrorCode):
        return OffsetDeleteResponse(error_code=client_error(outcome), throttle_time_ms=0, topics=[])
    if missing:
        outcome.topics = merged(
            [*missing, *outcome.topics],
            key=lambda topic: topic.name,
            add=lambda topic, more: topic.partitions.extend(more.partitions),
        )
    return outcome
