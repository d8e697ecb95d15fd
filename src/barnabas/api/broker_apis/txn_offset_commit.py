"""TxnOffsetCommit (key 28): commit the offsets of a group as part of a transaction.

Behaviour:
- the transaction must include the group's partition of ``__consumer_offsets``; the broker asks the
  transaction coordinator;
- a partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION; an error about the whole request
  is the result of every other partition;
- until the transaction ends, readers that require stable offsets get UNSTABLE_OFFSET_COMMIT.

Version notes: clients before version 2 crash on COORDINATOR_LOAD_IN_PROGRESS and get
COORDINATOR_NOT_AVAILABLE instead. Generation, member and instance id from 3 (KIP-447), so that a
consumer that was removed from its group cannot commit through its producer. TRANSACTION_ABORTABLE
from 4; INVALID_TXN_STATE before. From 5 this request adds the group's partition to the transaction
(KIP-890).
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, READ_TOPIC, WRITE_TRANSACTIONAL_ID, checked
from barnabas.api.produce.verification import Verdicts, verify
from barnabas.api.topic_answers import existing_and_missing, merged
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise
from barnabas.model.topic_names import CONSUMER_OFFSETS
from barnabas.network.caller import Caller
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

NEEDS = checked(WRITE_TRANSACTIONAL_ID, READ_GROUP, READ_TOPIC)

_LOAD_IN_PROGRESS_VERSION_MIN = 2
_ABORTABLE_VERSION_MIN = 4
_IMPLICIT_VERSION_MIN = 5


def handle(broker: Broker, caller: Caller, request: TxnOffsetCommitRequest) -> Answer[TxnOffsetCommitResponse]:
    version = caller.version
    if not broker.access.may(caller, WRITE_TRANSACTIONAL_ID, request.transactional_id):
        return _answer(request, version, [], ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _answer(request, version, [], ErrorCode.GROUP_AUTHORIZATION_FAILED)
    missing = _keep_existing(broker, caller, request)
    if not request.topics:
        return _answer(request, version, missing, TxnOffsetCommitResponse(throttle_time_ms=0, topics=[]))
    if not request.group_id:
        return _answer(request, version, missing, ErrorCode.INVALID_GROUP_ID)
    answer: Promise[TxnOffsetCommitResponse] = Promise()

    def verified(refused: ErrorCode) -> None:
        if refused:
            answer.resolve(_answer(request, version, missing, refused))
            return
        outcome = broker.groups.run(request.group_id, lambda machine, now_ms: machine.offsets.commit_in_transaction(request, now_ms))
        outcome.then(lambda outcome: answer.resolve(_answer(request, version, missing, outcome)))

    _verify(broker, request, version).then(verified)
    return answer


def _verify(broker: Broker, request: TxnOffsetCommitRequest, version: int) -> Promise[ErrorCode]:
    """NONE once the transaction includes the group's partition of ``__consumer_offsets``."""
    index = broker.groups.partition_of(request.group_id)
    partition = broker.replicas.get(CONSUMER_OFFSETS, index) if index is not None else None
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    if partition is None or partition.log.producers.in_transaction(*producer):
        # The transaction is open here already, or this broker does not have the partition. Then it
        # is not the group's coordinator either, and the coordinator runtime reports that.
        return Promise.kept(ErrorCode.NONE)
    verification = partition.verifications.begin(*producer)

    def verified(verdicts: Verdicts) -> ErrorCode:
        partition.verifications.end(verification)
        verdict = verdicts[partition.partition]
        if verdict == ErrorCode.NONE and verification.void:
            verdict = ErrorCode.TRANSACTION_ABORTABLE
        if verdict == ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION_MIN:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.INVALID_PRODUCER_EPOCH if verdict == ErrorCode.PRODUCER_FENCED else verdict

    implicit = version >= _IMPLICIT_VERSION_MIN
    return verify(
        broker,
        request.transactional_id,
        producer,
        [partition.partition],
        implicit=implicit,
        verifications=[verification],
        is_open=lambda: partition.log.producers.in_transaction(*producer),
    ).map(verified)


def _keep_existing(broker: Broker, caller: Caller, request: TxnOffsetCommitRequest) -> list[TxnOffsetCommitResponseTopic]:
    """Reduce the request to existing partitions of topics that the caller may read; return the
    results of the others."""
    topics = broker.metadata.image.topics.by_name
    may_read = broker.access.allowed(caller, READ_TOPIC, (topic.name for topic in request.topics))
    kept = []
    refused = []
    for topic in request.topics:
        if topic.name not in may_read:
            refused.append(_refused(topic, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        existing, missing = existing_and_missing(topics.get(topic.name), topic.partitions)
        if missing:
            refused.append(_refused(topic, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        if existing:
            topic.partitions = existing
            kept.append(topic)
    request.topics = kept
    return refused


def _answer(
    request: TxnOffsetCommitRequest,
    version: int,
    missing: list[TxnOffsetCommitResponseTopic],
    outcome: TxnOffsetCommitResponse | ErrorCode,
) -> TxnOffsetCommitResponse:
    if isinstance(outcome, ErrorCode):
        error = client_error(outcome)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOAD_IN_PROGRESS_VERSION_MIN:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        answered = [_refused(topic, topic.partitions, error) for topic in request.topics]
    else:
        answered = outcome.topics
    if not missing:
        return TxnOffsetCommitResponse(throttle_time_ms=0, topics=answered)
    return TxnOffsetCommitResponse(
        throttle_time_ms=0,
        topics=merged(
            [*missing, *answered],
            key=lambda topic: topic.name,
            add=lambda topic, more: topic.partitions.extend(more.partitions),
        ),
    )


def _refused(
    topic: TxnOffsetCommitRequestTopic, partitions: Sequence[TxnOffsetCommitRequestPartition], error: ErrorCode
) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error) for each in partitions],
    )
