"""OffsetCommit (key 8): commit the offsets of a group.

Behaviour:
- a partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION; the others are committed;
- an error about the whole request (a wrong generation, an unknown member, another coordinator) is
  the result of every partition;
- OFFSET_METADATA_TOO_LARGE for a partition whose metadata exceeds ``offset.metadata.max.bytes``;
- an empty group id is a valid group, as it was for the oldest consumers.

Version notes: a retention time in 2 to 4 only. Static members from 7. From 9 the generation may be
a member epoch (KIP-848), and a group that does not exist is GROUP_ID_NOT_FOUND instead of
ILLEGAL_GENERATION. Topics by id from 10, with UNKNOWN_TOPIC_ID.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, READ_TOPIC, checked
from barnabas.api.topic_answers import existing_and_missing, merged
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

NEEDS = checked(READ_GROUP, READ_TOPIC)

_TOPIC_ID_VERSION_MIN = 10


def handle(broker: Broker, caller: Caller, request: OffsetCommitRequest) -> Answer[OffsetCommitResponse]:
    version = caller.version
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return answer_all(request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    missing = _keep_existing(broker, caller, request, by_id=version >= _TOPIC_ID_VERSION_MIN)
    if not request.topics:
        return _answer(request, missing, OffsetCommitResponse(topics=[]))
    outcome = broker.groups.run(request.group_id, lambda machine, now_ms: machine.offsets.commit(request, version, now_ms))
    return outcome.map(lambda answer: _answer(request, missing, answer))


def _keep_existing(broker: Broker, caller: Caller, request: OffsetCommitRequest, *, by_id: bool) -> list[OffsetCommitResponseTopic]:
    """Reduce the request to existing partitions of topics that the caller may read, with names and
    ids; return the results of the others.
    """
    topics = broker.metadata.image.topics
    kept = []
    refused = []
    known_topics = [topics.by_id.get(topic.topic_id) if by_id else topics.by_name.get(topic.name) for topic in request.topics]
    may_read = broker.access.allowed(caller, READ_TOPIC, _names(request.topics, known_topics, by_id=by_id))
    for topic, known in zip(request.topics, known_topics, strict=True):
        name = known.name if known is not None else topic.name
        if name not in may_read and not (by_id and known is None):
            refused.append(_answered(topic, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        if known is not None:
            topic.name, topic.topic_id = known.name, known.topic_id
        existing, missing = existing_and_missing(known, topic.partitions)
        if missing:
            unknown_id = by_id and known is None
            error = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_answered(topic, missing, error))
        if existing:
            topic.partitions = existing
            kept.append(topic)
    request.topics = kept
    return refused


def _names(asked: Sequence[OffsetCommitRequestTopic], known: Sequence[TopicImage | None], *, by_id: bool) -> list[str]:
    """Of the topics that have a name; an id may be unknown."""
    if not by_id:
        return [topic.name for topic in asked]
    return [topic.name for topic in known if topic is not None]


def _answer(
    request: OffsetCommitRequest, missing: list[OffsetCommitResponseTopic], outcome: OffsetCommitResponse | ErrorCode
) -> OffsetCommitResponse:
    answer = answer_all(request, outcome) if isinstance(outcome, ErrorCode) else outcome
    if not missing:
        return answer
    return OffsetCommitResponse(
        topics=merged(
            [*missing, *answer.topics],
            key=lambda topic: topic.name or topic.topic_id,
            add=lambda topic, more: topic.partitions.extend(more.partitions),
        )
    )


def answer_all(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The same result for every partition of the request."""
    return OffsetCommitResponse(topics=[_answered(topic, topic.partitions, client_error(code)) for topic in request.topics])


def _answered(
    topic: OffsetCommitRequestTopic, partitions: Sequence[OffsetCommitRequestPartition], error: ErrorCode
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error) for each in partitions],
    )
