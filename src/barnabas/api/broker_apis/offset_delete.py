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

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.topic_answers import existing_and_missing, merged
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(broker: Broker, caller: Caller, request: OffsetDeleteRequest) -> Answer[OffsetDeleteResponse]:
    if not request.group_id:
        return _answer([], ErrorCode.INVALID_GROUP_ID)
    missing = _keep_existing(broker, request)
    outcome = broker.groups.run(request.group_id, lambda machine, _: machine.offsets.delete(request))
    return outcome.map(lambda answer: _answer(missing, answer))


def _keep_existing(broker: Broker, request: OffsetDeleteRequest) -> list[OffsetDeleteResponseTopic]:
    """Reduce the request to existing partitions; return the results of the others."""
    topics = broker.metadata.image.topics.by_name
    kept = []
    refused = []
    for topic in request.topics:
        existing, missing = existing_and_missing(topics.get(topic.name), topic.partitions)
        if missing:
            partitions = [
                OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                for each in missing
            ]
            refused.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        if existing:
            topic.partitions = existing
            kept.append(topic)
    request.topics = kept
    return refused


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
