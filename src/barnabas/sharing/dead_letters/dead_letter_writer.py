"""Writes dead letters through the leader of their partition, on this broker or on another.

One call is one or more batches, written in order; the first that fails ends it. Letters that were
written before the failure are written again by the next attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.env.clock import Clock
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.records.batch_builder import build_batch
from barnabas.records.batches import CorruptBatch
from barnabas.records.compression import DecompressionFailed
from barnabas.records.record import MalformedRecord, Record, open_batch
from barnabas.records.validation import Refused
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.partition import ACKS_ALL, Partition
from barnabas.sharing.core.delivery_change import DeadLetterSpan
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.dead_letters.destination import DeadLetterTopics
from barnabas.sharing.dead_letters.letter import letter
from barnabas.storage.log import OffsetIsRemote, OffsetOutOfRange
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

# Letters in one batch, and about their bytes: below the smallest limit that topics usually have.
LETTERS_PER_BATCH_MAX = 500
BATCH_BYTES_MAX = 500_000
# A topic that cannot be used is reported at most this often.
REPORT_MS = 60_000
_PURPOSE = "dead letters"


class Letters(NamedTuple):
    """The letters of one change: where they come from, and which offsets they are of."""

    group_id: str
    source: Partition
    spans: Sequence[DeadLetterSpan]
    settings: ShareGroupSettings


class DeadLetterWriter:
    def __init__(self, topics: DeadLetterTopics, replicas: LocalReplicas, others: OtherBrokers, clock: Clock, log: EventLog) -> None:
        self._topics = topics
        self._replicas = replicas
        self._others = others
        self._clock = clock
        self._log = log
        self._reported_ms = -REPORT_MS
        self.written = 0

    def write(self, letters: Letters) -> Promise[ErrorCode]:
        """NONE once all letters are on the in-sync replicas of their partition."""
        partition = self._topics.partition_for(letters.settings.dead_letter_topic, letters.source.partition)
        if isinstance(partition, str):
            self._report(letters, partition)
            return Promise.kept(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        answer: Promise[ErrorCode] = Promise()
        self._write_next(letters, partition, self._batches(letters), answer)
        return answer

    def _write_next(
        self, letters: Letters, partition: TopicPartition, batches: Iterator[tuple[int, bytearray]], answer: Promise[ErrorCode]
    ) -> None:
        try:
            count, batch = next(batches)
        except StopIteration:
            answer.resolve(ErrorCode.NONE)
            return
        except OSError as error:
            self._replicas.disk_failed(letters.source.directory, error)
            answer.resolve(ErrorCode.KAFKA_STORAGE_ERROR)
            return

        def written(error: ErrorCode) -> None:
            if error:
                self._report(letters, f"The leader of {partition} answers {error.name}.")
                answer.resolve(error)
                return
            self.written += count
            self._write_next(letters, partition, batches, answer)

        self._append(partition, batch).then(written)

    def _append(self, partition: TopicPartition, batch: bytearray) -> Promise[ErrorCode]:
        replica = self._replicas.get(*partition)
        if replica is not None and replica.leads:
            try:
                outcome = replica.append(memoryview(batch), ACKS_ALL, self._clock.wall_ms())
            except OSError as error:
                self._replicas.disk_failed(replica.directory, error)
                return Promise.kept(ErrorCode.KAFKA_STORAGE_ERROR)
            if isinstance(outcome, Refused):
                return Promise.kept(outcome.code)
            return replica.replicated(outcome.last_offset + 1)
        leader = self._others.leader_of(partition)
        topic_id = self._topics.topic_id(partition.topic)
        data = TopicProduceData(
            name=partition.topic, topic_id=topic_id, partition_data=[PartitionProduceData(index=partition.partition, records=bytes(batch))]
        )
        request = ProduceRequest(acks=ACKS_ALL, timeout_ms=30_000, topic_data=[data])
        sent = self._others.send(leader, request, purpose=_PURPOSE) if leader != NO_NODE else None
        return Promise.kept(ErrorCode.LEADER_NOT_AVAILABLE) if sent is None else sent.map(_error_of)

    def _batches(self, letters: Letters) -> Iterator[tuple[int, bytearray]]:
        """Batches of letters, with the number of letters in each. Raises ``OSError`` when the disk
        failed."""
        now_ms = self._clock.wall_ms()
        waiting: list[Record] = []
        size_bytes = 0
        source, settings = letters.source, letters.settings
        for span in letters.spans:
            for record in _records(source, span):
                bytes_of_record = len(record.key or b"") + len(record.value or b"") + sum(len(value or b"") for _, value in record.headers)
                copy = settings.dead_letters_copy and bytes_of_record <= BATCH_BYTES_MAX
                made = letter(
                    record,
                    source.partition,
                    letters.group_id,
                    delivery_count=span.delivery_count,
                    message=span.reason,
                    copy=copy,
                    index=len(waiting),
                    now_ms=now_ms,
                )
                waiting.append(made)
                size_bytes += bytes_of_record if copy else 0
                if len(waiting) >= LETTERS_PER_BATCH_MAX or size_bytes >= BATCH_BYTES_MAX:
                    yield len(waiting), build_batch(waiting)
                    waiting, size_bytes = [], 0
        if waiting:
            yield len(waiting), build_batch(waiting)

    def _report(self, letters: Letters, reason: str) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._reported_ms >= REPORT_MS:
            self._reported_ms = now_ms
            self._log.warning(
                "dead letters of a share group wait", group=letters.group_id, topic=letters.settings.dead_letter_topic, reason=reason
            )


def _records(source: Partition, span: DeadLetterSpan) -> Iterator[Record]:
    """The records of a span. Where they cannot be read any more, empty ones stand for them, so that
    the letters still name their offsets."""
    offset = span.first
    try:
        # A read ends before the batch that holds its end offset, so the span itself is no bound.
        for header, batch in source.log.batches(span.first, source.high_watermark):
            if header.base_offset > span.last:
                return
            if header.control:
                continue
            for record in open_batch(batch):
                if offset <= record.offset <= span.last:
                    offset = record.offset + 1
                    yield record
    except OffsetOutOfRange:
        # The log has lost them, and no letter can bring them back.
        return
    except (OffsetIsRemote, CorruptBatch, DecompressionFailed, MalformedRecord):
        yield from (Record(each, 0, None, None) for each in range(offset, span.last + 1))


def _error_of(response: ProduceResponse | ErrorCode) -> ErrorCode:
    if isinstance(response, ErrorCode):
        return response
    return known_error(response.responses[0].partition_responses[0].error_code)
