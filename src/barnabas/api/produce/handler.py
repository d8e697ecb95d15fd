"""Produce (key 0): append one batch to each of some partitions.

Behaviour:
- acks 0 gets no response. When a batch fails, the broker closes the connection, because such a
  producer cannot notice anything else;
- acks 1 is answered when the batch is in the leader's log, acks -1 when it is in the logs of all
  in-sync replicas. The response waits for at most ``timeout_ms``, then it is REQUEST_TIMED_OUT and
  the batch may or may not be replicated. Any other value is refused for every partition;
- with fewer in-sync replicas than min.insync.replicas a batch with acks -1 gets
  NOT_ENOUGH_REPLICAS. When the ISR shrinks below the minimum while the response waits, it gets
  NOT_ENOUGH_REPLICAS_AFTER_APPEND; when this broker stops leading, NOT_LEADER_OR_FOLLOWER. The
  producer retries in all these cases;
- clients cannot write to internal topics (INVALID_TOPIC_EXCEPTION), except with the client id
  ``__admin_client``, as in Kafka;
- TOPIC_AUTHORIZATION_FAILED for a topic that the caller may not write to, whether it exists or not.
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED for the whole request if it has transactional batches and
  the caller may not use the transactional id;
- every partition has its own outcome; the retry of a batch of an idempotent producer gets the same
  response as the first attempt;
- the first batch of a transaction in a partition waits until the transaction's coordinator has
  confirmed it;
- a topic may require schemas (confluent.value.schema.validation): a batch with a record that has
  none gets INVALID_RECORD with the index and the reason. A batch may wait for the schema registry,
  and later batches of the same producer then wait behind it.

Version notes: topics by id from 13 (UNKNOWN_TOPIC_ID), by name before. zstd from 7 on. Error
messages and record errors from 8. From 10 on a broker that does not lead names the leader
(KIP-951). From 12 on a produce adds its partitions to the transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.api.access import EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.leader_hints import not_here, topic_name
from barnabas.api.needs import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID, checked
from barnabas.api.produce.acknowledgement import AwaitedEntry, await_replicas
from barnabas.api.produce.appending import append_all
from barnabas.api.produce.hints import HINTS_VERSION_MIN, give_hints
from barnabas.api.produce.schemas import validate_schemas
from barnabas.api.produce.verification import Verdicts, verify
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.model.topic_names import INTERNAL_TOPICS
from barnabas.network.caller import Caller
from barnabas.records.batch_header import ATTRIBUTES_LOW_BYTE_POSITION, CODEC_MASK, TRANSACTIONAL_BIT, read_header
from barnabas.records.compression import Codec
from barnabas.records.validation import Refused
from barnabas.replication.partition import ACKS_ALL, NOT_VERIFIED, Partition
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

if TYPE_CHECKING:
    from barnabas.schema_validation.lanes import Verdict

NEEDS = checked(WRITE_TOPIC, WRITE_TRANSACTIONAL_ID)

_ZSTD_VERSION_MIN = 7
_TOPIC_ID_VERSION_MIN = 13
_ABORTABLE_VERSION_MIN = 11
_IMPLICIT_VERSION_MIN = 12
_ACKS = (0, 1, -1)
_ADMIN_CLIENT_ID = "__admin_client"
# The coordinator is on another broker, not yet elected, or busy. Producers do not know these codes
# of Produce, but every producer retries NOT_ENOUGH_REPLICAS.
_RETRIED = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)

_UNKNOWN = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition")
_ELSEWHERE = Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this broker has no replica of the partition")
_UNKNOWN_ID = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
_DENIED = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
_TRANSACTION_DENIED = Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional Id authorization failed.")
_INTERNAL = Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, "only the broker itself may append to an internal topic")
_WRONG_ACKS = Refused(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be 0, 1 or -1")
_NO_ZSTD = Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or higher")
# Replaced by the outcome when the batch has its verdict.
_UNCHECKED = Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "the schemas of the batch are being validated")


class _Waiting(NamedTuple):
    """A batch that waits for its schemas or for its transaction's coordinator, and its position in
    the response."""

    partition: Partition
    data: PartitionProduceData
    answers: list[PartitionProduceResponse]
    position: int


def handle(broker: Broker, caller: Caller, request: ProduceRequest) -> Answer[ProduceResponse | None]:
    now_ms = broker.clock.wall_ms()
    acks = request.acks
    replicas = broker.replicas
    by_id = caller.version >= _TOPIC_ID_VERSION_MIN
    topics = []
    unverified: list[_Waiting] = []
    unchecked: list[tuple[Promise[Verdict], _Waiting]] = []
    waiting: list[AwaitedEntry] = []
    may_write = EVERYTHING
    if (broker.access.enabled or request.transactional_id is None) and not _may_use_transaction(broker, caller, request):
        return _finish(broker, caller, acks, _all_refused(request, _TRANSACTION_DENIED))
    if broker.access.enabled:
        named = (topic_name(broker, topic.topic_id) if by_id else topic.name for topic in request.topic_data)
        may_write = broker.access.allowed(caller, WRITE_TOPIC, (name for name in named if name is not None))
    for topic in request.topic_data:
        name = topic_name(broker, topic.topic_id) if by_id else topic.name
        partitions = replicas.by_topic.get(name) if name is not None else None
        forbidden = name in INTERNAL_TOPICS and caller.client_id != _ADMIN_CLIENT_ID
        answers: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            partition = partitions.get(data.index) if partitions is not None else None
            outcome: Appended | Refused
            if name is not None and name not in may_write:
                outcome = _DENIED
            elif partition is None:
                outcome = _missing(broker, name, data.index)
            elif acks not in _ACKS:
                outcome = _WRONG_ACKS
            elif forbidden:
                outcome = _INTERNAL
            elif caller.version < _ZSTD_VERSION_MIN and _attributes(data) & CODEC_MASK == Codec.ZSTD:
                outcome = _NO_ZSTD
            else:
                schemas = partition.log.settings.rules.schemas
                verdict = None if schemas is None else validate_schemas(broker, caller, partition, schemas, data.records)  # type: ignore[arg-type]
                if verdict is None:
                    outcome = _append(broker, partition, data, acks, now_ms)
                    if outcome is NOT_VERIFIED:
                        unverified.append(_Waiting(partition, data, answers, len(answers)))
                elif isinstance(verdict, Refused):
                    outcome = verdict
                else:
                    outcome = _UNCHECKED
                    unchecked.append((verdict, _Waiting(partition, data, answers, len(answers))))
            answer = _answer(data.index, partition, outcome)
            answers.append(answer)
            if acks == ACKS_ALL:
                _await_replicas(partition, outcome, answer, waiting)
        topics.append(TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers))
    response = ProduceResponse(responses=topics, throttle_time_ms=0)

    def finish() -> ProduceResponse | None:
        return _finish(broker, caller, acks, response)

    if unverified or unchecked:
        checks = [verdict.followed_by(partial(_checked, broker, caller, request, each, waiting)) for verdict, each in unchecked]
        begun = all_of([*checks, *_verify(broker, caller, request, unverified, waiting)])
        return _after(begun, lambda: await_replicas(broker.loop, waiting, request.timeout_ms, finish))
    if waiting:
        return await_replicas(broker.loop, waiting, request.timeout_ms, finish)
    return finish()


def _may_use_transaction(broker: Broker, caller: Caller, request: ProduceRequest) -> bool:
    """Whether the request has no transactional batch, or the caller may write with its
    transactional id."""
    if not any(_attributes(data) & TRANSACTIONAL_BIT for topic in request.topic_data for data in topic.partition_data):
        return True
    transactional_id = request.transactional_id
    return transactional_id is not None and broker.access.may(caller, WRITE_TRANSACTIONAL_ID, transactional_id)


def _all_refused(request: ProduceRequest, refused: Refused) -> ProduceResponse:
    topics = [
        TopicProduceResponse(
            name=topic.name, topic_id=topic.topic_id, partition_responses=[_refused(data.index, refused) for data in topic.partition_data]
        )
        for topic in request.topic_data
    ]
    return ProduceResponse(responses=topics, throttle_time_ms=0)


def _missing(broker: Broker, topic: str | None, index: int) -> Refused:
    if topic is None:
        return _UNKNOWN_ID
    return _ELSEWHERE if not_here(broker, topic, index) == ErrorCode.NOT_LEADER_OR_FOLLOWER else _UNKNOWN


def _append(
    broker: Broker, partition: Partition, data: PartitionProduceData, acks: int, now_ms: int, verification: Verification | None = None
) -> Appended | Refused:
    return append_all(broker, partition, [(data.records, acks, verification)], now_ms)[0]  # type: ignore[list-item]


# -- waiting for replicas --------------------------------------------------------------------------


def _await_replicas(
    partition: Partition | None, outcome: Appended | Refused, answer: PartitionProduceResponse, waiting: list[AwaitedEntry]
) -> None:
    if isinstance(outcome, Appended) and partition is not None and outcome.last_offset >= partition.high_watermark:
        waiting.append((answer, partition.replicated(outcome.last_offset + 1)))


def _after(first: Promise[list[None]], then: Callable[[], Promise[ProduceResponse | None]]) -> Promise[ProduceResponse | None]:
    answer: Promise[ProduceResponse | None] = Promise()
    first.then(lambda _: then().then(answer.resolve))
    return answer


def _finish(broker: Broker, caller: Caller, acks: int, response: ProduceResponse) -> ProduceResponse | None:
    failed = any(each.error_code for topic in response.responses for each in topic.partition_responses)
    if acks != 0:
        if failed and caller.version >= HINTS_VERSION_MIN:
            give_hints(broker, caller.listener, response)
        return response
    if failed:
        caller.connection.close()
    return None


# -- schemas ---------------------------------------------------------------------------------------


def _checked(
    broker: Broker, caller: Caller, request: ProduceRequest, batch: _Waiting, waiting: list[AwaitedEntry], verdict: Verdict
) -> Promise[None]:
    """Appends a batch that waited for its verdict, within this call: the next batch of its producer
    gets its verdict right after."""
    outcome = verdict or _append(broker, batch.partition, batch.data, request.acks, broker.clock.wall_ms())
    if outcome is NOT_VERIFIED:
        return all_of(_verify(broker, caller, request, [batch], waiting)).map(lambda _: None)
    answer = batch.answers[batch.position] = _answer(batch.data.index, batch.partition, outcome)
    if request.acks == ACKS_ALL:
        _await_replicas(batch.partition, outcome, answer, waiting)
    return Promise.kept(None)


# -- transactions ----------------------------------------------------------------------------------


def _verify(
    broker: Broker, caller: Caller, request: ProduceRequest, unverified: list[_Waiting], waiting: list[AwaitedEntry]
) -> list[Promise[None]]:
    # An honest request has one producer. A request with several is verified for each of them.
    by_producer: dict[ProducerIdentity, list[_Waiting]] = {}
    for each in unverified:
        header = read_header(each.data.records)  # type: ignore[arg-type]
        by_producer.setdefault(ProducerIdentity(header.producer_id, header.producer_epoch), []).append(each)
    return [_verify_producer(broker, caller, request, producer, batches, waiting) for producer, batches in by_producer.items()]


def _verify_producer(
    broker: Broker,
    caller: Caller,
    request: ProduceRequest,
    producer: ProducerIdentity,
    batches: list[_Waiting],
    waiting: list[AwaitedEntry],
) -> Promise[None]:
    assert request.transactional_id is not None, "a transactional batch without one has been refused"
    verifications = [each.partition.verifications.begin(*producer) for each in batches]

    def verified(verdicts: Verdicts) -> None:
        now_ms = broker.clock.wall_ms()
        for each, verification in zip(batches, verifications, strict=True):
            code = _for_producers(verdicts[each.partition.partition], caller.version)
            if code:
                outcome: Appended | Refused = Refused(code, "the transaction's coordinator does not know of this partition")
            else:
                outcome = _append(broker, each.partition, each.data, request.acks, now_ms, verification)
            each.partition.verifications.end(verification)
            answer = each.answers[each.position] = _answer(each.data.index, each.partition, outcome)
            if request.acks == ACKS_ALL:
                _await_replicas(each.partition, outcome, answer, waiting)

    def is_open() -> bool:
        return all(each.partition.log.producers.in_transaction(*producer) for each in batches)

    partitions = [each.partition.partition for each in batches]
    implicit = caller.version >= _IMPLICIT_VERSION_MIN
    return verify(
        broker, request.transactional_id, producer, partitions, implicit=implicit, verifications=verifications, is_open=is_open
    ).map(verified)


def _for_producers(verdict: ErrorCode, version: int) -> ErrorCode:
    """Translates a coordinator's error code to one that producers expect from a partition."""
    if verdict in _RETRIED:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if verdict == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if verdict == ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION_MIN:
        return ErrorCode.INVALID_TXN_STATE
    return verdict


# -- answers ---------------------------------------------------------------------------------------


def _attributes(data: PartitionProduceData) -> int:
    """The low byte of the attributes of the first batch; 0 if the records are too short for one."""
    records = data.records
    known = records is not None and len(records) > ATTRIBUTES_LOW_BYTE_POSITION
    return records[ATTRIBUTES_LOW_BYTE_POSITION] if known else 0  # type: ignore[index]


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
