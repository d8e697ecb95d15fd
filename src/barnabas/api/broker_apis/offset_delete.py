"""OffsetDelete (key 47): forget a group's positions in some partitions.

Behaviour:
- a topic that a member subscribes to keeps its offsets, GROUP_SUBSCRIBED_TO_TOPIC. What members of other protocols than "consumer" read is
  not known, so there the group must be empty, NON_EMPTY_GROUP for the whole request;
- a partition that does not exist is refused on its own, UNKNOWN_TOPIC_OR_PARTITION; one without an offset is none the worse;
- the group is looked for even when no partition exists.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import told
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
    """Leave in the request what exists; the refusals of the rest."""
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
        return OffsetDeleteResponse(error_code=told(outcome), throttle_time_ms=0, topics=[])
    if missing:
        outcome.topics = merged(
            [*missing, *outcome.topics],
            key=lambda topic: topic.name,
            add=lambda topic, more: topic.partitions.extend(more.partitions),
        )
    return outcome
