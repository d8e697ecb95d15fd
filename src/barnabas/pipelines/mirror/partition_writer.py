"""The part of a mirror that runs in Spark's tasks: one source partition's records of one batch, to
the same partition on the target.

All in one transaction: the records in the source's order; the segments that map their offsets
(``offset_syncs``); and, as the committed offset of the mirror's own group for the target's
partition, the source offset to continue from. That position decides which records the target has: a
task that Spark runs again, in the same process or after a crash, reads it first and skips the
records before it. It need not get the same batch again, so it is correct even where the checkpoint
was lost.

The transactional id belongs to the source cluster and the target's partition. A writer initialises
its producer with it, which ends open transactions of a predecessor and fences one that still runs.
(``exactly_once`` uses the same mechanism for rows without offsets of their own, and has to count
batches; it also never learns the offset of a written record, which the translation of group offsets
needs.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from confluent_kafka import KafkaException, TopicPartition

from barnabas.pipelines.mirror.kept_clients import abandon, group_consumer, keep, open_transaction
from barnabas.pipelines.mirror.new_schema import new_schema
from barnabas.pipelines.mirror.offset_map import BatchSegments
from barnabas.pipelines.mirror.offset_syncs import segment_records, two_way_record
from barnabas.pipelines.mirror.provenance import came_through, coming_from
from barnabas.pipelines.mirror.schema_ids import PartIds, TopicIds, UnknownId, translated
from barnabas.pipelines.spark_archives import stop_rereading
from barnabas.pipelines.transactional_producer import ANSWER_SECONDS_MAX, send_offsets
from barnabas.schemas.framing import KEY_HEADER, VALUE_HEADER

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from barnabas.registry_client import RegistrySettings

# Within the 15 minutes that brokers allow: a batch is bounded, a slow link may not be.
TRANSACTION_MS_MAX = 600_000
# The target's broker limits the size of records (max.message.bytes goes with the topic), so the
# client's own limit is raised out of the way.
_MESSAGE_BYTES_MAX = 1_000_000_000
# Numbers of a batch that look like ids and are none: the registry is asked once for each.
NO_IDS_KEPT_MAX = 10_000
# librdkafka's queue is full: how long its thread gets to send some of it.
_QUEUE_FULL_SECONDS = 0.1

WRITTEN_SCHEMA = "topic STRING, partition LONG, written LONG, left_out LONG, position LONG"


class SourceRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The settings of each task; sent to executors."""

    target: dict[str, Any]  # the client configuration
    target_prefix: str  # before a topic's name
    syncs_topic: str
    source_id: str
    target_id: str
    marks_provenance: bool
    # By topic of the source, where ids of schemas are translated.
    schema_ids: Mapping[str, TopicIds] = field(default_factory=dict)
    source_registry: RegistrySettings | None = None

    @property
    def producer_config(self) -> dict[str, Any]:
        return {**self.target, "transaction.timeout.ms": TRANSACTION_MS_MAX, "message.max.bytes": _MESSAGE_BYTES_MAX}

    @property
    def group(self) -> str:
        return position_group(self.source_id)


def position_group(source_id: str) -> str:
    """The group whose offsets on the target are positions in the source cluster of this id."""
    return f"barnabas.mirror.{source_id}"


def write_partitions(batches: Iterator[RecordBatch], plan: WritePlan) -> Iterator[RecordBatch]:
    """Spark's connector gives each task the records of one partition; if there were several, each
    would get a transaction."""
    from pyarrow import RecordBatch

    stop_rereading()
    written = []
    for (topic, partition), records in groupby(_records(batches), key=lambda each: (each.topic, each.partition)):
        with _PartitionWriter(plan, topic, partition) as writer:
            for record in records:
                writer.write(record)
            writer.commit()
            written.append(writer.summary())
    if written:
        yield RecordBatch.from_pylist(written)


def _records(batches: Iterator[RecordBatch]) -> Iterator[SourceRecord]:
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        for topic, partition, offset, key, value, timestamp_ms, headers in zip(*columns, strict=True):
            pairs = [(each["key"], each["value"]) for each in headers or ()]
            yield SourceRecord(topic, partition, offset, key, value, timestamp_ms, pairs)


class _PartitionWriter:
    """Opened with a transaction, which its end commits or abandons."""

    def __init__(self, plan: WritePlan, topic: str, partition: int) -> None:
        self._plan = plan
        self._topic, self._partition = topic, partition
        self._target = f"{plan.target_prefix}{topic}"
        self._transactional_id = f"{plan.group}.{self._target}-{partition}"
        self._consumer = group_consumer(plan.target, plan.group)
        place = TopicPartition(self._target, partition)
        self._producer, self._position = open_transaction(plan.producer_config, self._transactional_id, self._consumer, place)
        self._ids = plan.schema_ids.get(topic)
        self._no_ids: set[int] = set()
        self._segments = BatchSegments()
        self._failure: Any = None
        self._written = self._left_out = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            abandon(self._producer)
        else:
            keep(self._plan.producer_config, self._transactional_id, self._producer)

    def write(self, record: SourceRecord) -> None:
        if record.offset < self._position:
            return
        self._position = record.offset + 1
        headers = record.headers
        if self._plan.marks_provenance:
            if came_through(headers, self._plan.target_id):
                self._left_out += 1
                return
            headers = coming_from(headers, self._plan.source_id)
        source, key, value = record.offset, record.key, record.value
        if self._ids is not None:
            # Where a header names the schema, the bytes begin with data and not with an id.
            named = {name for name, _ in record.headers}
            key = key if KEY_HEADER in named else self._translated(key, self._ids.keys)
            value = value if VALUE_HEADER in named else self._translated(value, self._ids.values)
        self._produce(
            self._target,
            value,
            key,
            self._partition,
            timestamp=record.timestamp_ms,
            headers=headers,
            on_delivery=lambda error, message: self._delivered(source, error, message),
        )
        self._written += 1

    def _translated(self, data: bytes | None, ids: PartIds) -> bytes | None:
        try:
            return translated(data, ids)
        except UnknownId as unknown:
            assert self._plan.source_registry is not None, "ids come from registries"
            if unknown.schema_id not in self._no_ids and new_schema(unknown.schema_id, self._plan.source_registry):
                raise
            # The registry never had this id: the record was broken on the source, and stays so.
            if len(self._no_ids) < NO_IDS_KEPT_MAX:
                self._no_ids.add(unknown.schema_id)
            return data

    def commit(self) -> None:
        self._flush()
        for key, value in segment_records(self._topic, self._partition, self._segments.segments):
            self._produce(self._plan.syncs_topic, value, key, on_delivery=self._noted)
        if self._left_out:
            key, value = two_way_record(self._topic, self._partition)
            self._produce(self._plan.syncs_topic, value, key, on_delivery=self._noted)
        position = TopicPartition(self._target, self._partition, self._position)
        send_offsets(self._producer, [position], self._consumer.consumer_group_metadata())
        self._flush()
        self._producer.commit_transaction(ANSWER_SECONDS_MAX)

    def summary(self) -> dict[str, object]:
        return {
            "topic": self._topic,
            "partition": self._partition,
            "written": self._written,
            "left_out": self._left_out,
            "position": self._position,
        }

    def _produce(self, *arguments: Any, **options: Any) -> None:
        while True:
            try:
                self._producer.produce(*arguments, **options)
            except BufferError:
                self._producer.poll(_QUEUE_FULL_SECONDS)
            else:
                self._producer.poll(0)
                return

    def _flush(self) -> None:
        unsent = self._producer.flush(TRANSACTION_MS_MAX / 1000)
        if self._failure is not None:
            raise KafkaException(self._failure)
        if unsent:
            raise TimeoutError(f"{unsent} records for {self._target}-{self._partition} were not acknowledged in time")

    def _delivered(self, source: int, error: Any, message: Any) -> None:
        if error is not None:
            self._failure = self._failure or error
        else:
            self._segments.add(source, message.offset())

    def _noted(self, error: Any, message: Any) -> None:
        self._failure = self._failure or error
