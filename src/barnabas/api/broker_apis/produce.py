"""Produce (key 0): append one batch to each of some partitions.

Behaviour:
- acks 0 gets no answer; where a batch fails, the connection is closed, which is all such a producer can notice;
- acks 1 and -1 are answered when the batch is in the log of all who must have it; any other value is refused for every partition;
- nobody writes into internal topics (INVALID_TOPIC_EXCEPTION), except who calls itself ``__admin_client``, as in Kafka;
- every partition has its own outcome; a retried batch of an idempotent producer is answered like the first time;
- the first batch of a transaction in a partition waits until the transaction's coordinator has confirmed it.

Version notes: topics by id from 13 (UNKNOWN_TOPIC_ID), by name before. zstd from 7 on. Error messages and record errors from 8. From 12 on
partitions become part of a transaction by being produced to.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.api.transaction_verification import Verdicts, verify
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.model.topic_names import INTERNAL_TOPICS
from barnabas.records.batch_header import ATTRIBUTES_LOW_BYTE_POSITION, CODEC_MASK, read_header
from barnabas.records.compression import Codec
from barnabas.records.validation import Refused
from barnabas.replication.partition import NOT_VERIFIED, Partition
from barnabas.replication.verification import Verification
from barnabas.storage.log import Appended
from barnabas.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

_ZSTD_VERSION_MIN = 7
_TOPIC_ID_VERSION_MIN = 13
_ABORTABLE_VERSION_MIN = 11
_IMPLICIT_VERSION_MIN = 12
_ACKS = (0, 1, -1)
_ADMIN_CLIENT_ID = "__admin_client"
# The coordinator is elsewhere, not yet there, or busy: every producer tries again when there are too few replicas.
_RETRIED = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)

_UNKNOWN = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "this broker has no such partition")
_UNKNOWN_ID = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
_INTERNAL = Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, "nobody but the broker itself may append to an internal topic")
_WRONG_ACKS = Refused(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be 0, 1 or -1")
_NO_ZSTD = Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or higher")
_DISK_FAILED = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk failed while appending")
_NO_TRANSACTIONAL_ID = Refused(
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactional batches need the transactional id in the request"
)


class _Unverified(NamedTuple):
    """A batch that waits for the word of its transaction's coordinator, and its place in the answer."""

    partition: Partition
    data: PartitionProduceData
    answers: list[PartitionProduceResponse]
    position: int


def handle(broker: Broker, context: RequestContext, request: ProduceRequest) -> Answer[ProduceResponse | None]:
    now_ms = broker.clock.wall_ms()
    acks = request.acks
    replicas = broker.replicas
    by_id = context.api_version >= _TOPIC_ID_VERSION_MIN
    topics = []
    unverified: list[_Unverified] = []
    for topic in request.topic_data:
        name = replicas.topic_names.get(topic.topic_id) if by_id else topic.name
        partitions = replicas.by_topic.get(name) if name is not None else None
        forbidden = name in INTERNAL_TOPICS and context.client_id != _ADMIN_CLIENT_ID
        answers: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            partition = partitions.get(data.index) if partitions is not None else None
            outcome: Appended | Refused
            if partition is None:
                outcome = _UNKNOWN_ID if by_id and name is None else _UNKNOWN
            elif acks not in _ACKS:
                outcome = _WRONG_ACKS
            elif forbidden:
                outcome = _INTERNAL
            elif context.api_version < _ZSTD_VERSION_MIN and _codec(data) == Codec.ZSTD:
                outcome = _NO_ZSTD
            else:
                outcome = _append(broker, partition, data, acks, now_ms)
                if outcome is NOT_VERIFIED:
                    unverified.append(_Unverified(partition, data, answers, len(answers)))
            answers.append(_answer(data.index, partition, outcome))
        topics.append(TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers))
    response = ProduceResponse(responses=topics, throttle_time_ms=0)
    if unverified:
        return _verify(broker, context, request, unverified).map(lambda _: _finish(context, acks, response))
    return _finish(context, acks, response)


def _finish(context: RequestContext, acks: int, response: ProduceResponse) -> ProduceResponse | None:
    if acks != 0:
        return response
    if any(each.error_code for topic in response.responses for each in topic.partition_responses):
        context.connection.close()
    return None


def _append(
    broker: Broker, partition: Partition, data: PartitionProduceData, acks: int, now_ms: int, verification: Verification | None = None
) -> Appended | Refused:
    try:
        return partition.append(data.records, acks, now_ms, verification)  # type: ignore[arg-type]
    except OSError as error:
        broker.replicas.disk_failed(partition.directory, error)
        return _DISK_FAILED


# -- transactions -------------------------------------------------------------------------------------------------------------


def _verify(broker: Broker, context: RequestContext, request: ProduceRequest, unverified: list[_Unverified]) -> Promise[list[None]]:
    transactional_id = request.transactional_id
    if transactional_id is None:
        for each in unverified:
            each.answers[each.position] = _answer(each.data.index, each.partition, _NO_TRANSACTIONAL_ID)
        return Promise.kept([])
    # One producer in all honest requests; who lies is verified for every producer it claims to be.
    by_producer: dict[ProducerIdentity, list[_Unverified]] = {}
    for each in unverified:
        header = read_header(each.data.records)  # type: ignore[arg-type]
        by_producer.setdefault(ProducerIdentity(header.producer_id, header.producer_epoch), []).append(each)
    return all_of([_verify_producer(broker, context, request, producer, batches) for producer, batches in by_producer.items()])


def _verify_producer(
    broker: Broker, context: RequestContext, request: ProduceRequest, producer: ProducerIdentity, batches: list[_Unverified]
) -> Promise[None]:
    assert request.transactional_id is not None
    verifications = [each.partition.verifications.begin(*producer) for each in batches]

    def verified(verdicts: Verdicts) -> None:
        now_ms = broker.clock.wall_ms()
        for each, verification in zip(batches, verifications, strict=True):
            code = _for_producers(verdicts[each.partition.partition], context.api_version)
            if code:
                outcome: Appended | Refused = Refused(code, "the transaction's coordinator does not know of this partition")
            else:
                outcome = _append(broker, each.partition, each.data, request.acks, now_ms, verification)
            each.partition.verifications.end(verification)
            each.answers[each.position] = _answer(each.data.index, each.partition, outcome)

    partitions = [each.partition.partition for each in batches]
    implicit = context.api_version >= _IMPLICIT_VERSION_MIN
    return verify(broker, request.transactional_id, producer, partitions, implicit=implicit).map(verified)


def _for_producers(verdict: ErrorCode, version: int) -> ErrorCode:
    """A coordinator's words in those of a partition, which is all that producers understand."""
    if verdict in _RETRIED:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if verdict == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if verdict == ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION_MIN:
        return ErrorCode.INVALID_TXN_STATE
    return verdict


# -- answers ------------------------------------------------------------------------------------------------------------------


def _codec(data: PartitionProduceData) -> int:
    records = data.records
    known = records is not None and len(records) > ATTRIBUTES_LOW_BYTE_POSITION
    return records[ATTRIBUTES_LOW_BYTE_POSITION] & CODEC_MASK if known else 0  # type: ignore[index]


def _answer(index: int, partition: Partition | None, outcome: Appended | Refused) -> PartitionProduceResponse:
    if isinstance(outcome, Refused):
        return _refused(index, outcome)
    assert partition is not None
    return PartitionProduceResponse(
        index=index,
        error_code=ErrorCode.NONE,
        base_offset=outcome.base_offset,
        log_append_time_ms=outcome.append_time_ms,
        log_start_offset=partition.log.log_start_offset,
    )


def _refused(index: int, refused: Refused) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=refused.code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=error.batch_index, batch_index_error_message=error.message)
            for error in refused.record_errors
        ],
        error_message=refused.message,
    )
