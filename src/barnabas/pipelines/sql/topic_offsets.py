"""Offsets that bound a query: the end of each partition of a topic when the query starts, and the
start for a time or a sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from barnabas.pipelines.errors import CannotRun
from barnabas.schemas.framing import VALUE_HEADER

ANSWER_SECONDS_MAX = 30.0
# How long a sample waits for records that its partitions seem to have: transactions and compaction
# leave offsets without records.
SAMPLE_SECONDS_MAX = 5.0
# How long a query waits for a broker to send the next records of a range.
IDLE_SECONDS_MAX = 30.0
_POLL_SECONDS = 0.2
_RECORDS_AT_ONCE = 1000
# Records of a batch for the embedded engine, at most.
BATCH_RECORDS = 10_000
_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own errors begin with an underscore


@dataclass(frozen=True, slots=True)
class Bounds:
    """The offsets of one partition; the end is after the last record."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SampleRecord:
    key: bytes | None
    value: bytes | None
    schema_header: bytes | None = None  # which names the schema of the value


class TopicOffsets:
    """The offsets of a cluster's topics, fetched by a consumer that joins no group."""

    def __init__(self, client_config: Mapping[str, Any]) -> None:
        own = {
            "group.id": "barnabas.sql",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            # Retention may delete records that a query is about to read: it reads on at the first
            # one that is left.
            "auto.offset.reset": "earliest",
        }
        self._consumer = Consumer({**client_config, **own})

    def close(self) -> None:
        self._consumer.close()

    def topics(self) -> dict[str, int]:
        """Names, and numbers of partitions."""
        try:
            found: Any = self._consumer.list_topics(timeout=ANSWER_SECONDS_MAX)
        except KafkaException as error:
            raise CannotRun(f"The cluster does not answer: {error.args[0].str()}.") from error
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def bounds(self, topic: str, partitions: int) -> dict[int, Bounds]:
        """Up to the first open transaction: records after it cannot be read yet."""
        found = {}
        for each in range(partitions):
            start, end = self._consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=ANSWER_SECONDS_MAX)
            found[each] = Bounds(start, end)
        return found

    def since(self, topic: str, bounds: Mapping[int, Bounds], moment_ms: int) -> dict[int, Bounds]:
        """Without the offsets before the first record at or after the time."""
        asked = [TopicPartition(topic, each, max(moment_ms, 0)) for each in bounds]
        narrowed = {}
        for found in self._consumer.offsets_for_times(asked, timeout=ANSWER_SECONDS_MAX):
            whole = bounds[found.partition]
            # -1: no record is that new.
            start = whole.end if found.offset < 0 else min(max(found.offset, whole.start), whole.end)
            narrowed[found.partition] = Bounds(start, whole.end)
        return narrowed

    def sample(self, topic: str, bounds: Mapping[int, Bounds], records_max: int) -> list[SampleRecord]:
        """The newest records of each partition: they have the fields that producers write now."""
        filled = {each: bound for each, bound in bounds.items() if bound.end > bound.start}
        if not filled:
            return []
        each_max = max(1, records_max // len(filled))
        starts = [TopicPartition(topic, each, max(bound.start, bound.end - each_max)) for each, bound in filled.items()]
        self._consumer.assign(starts)
        found: list[SampleRecord] = []
        unread = set(filled)
        polls_left = round(SAMPLE_SECONDS_MAX / _POLL_SECONDS)
        while unread and polls_left > 0:
            message: Any
            messages = self._consumer.consume(_RECORDS_AT_ONCE, timeout=_POLL_SECONDS)
            polls_left -= 0 if messages else 1
            for message in messages:
                if message.error() is not None:
                    # Its end, or an error, which the query will report.
                    unread.discard(message.partition())
                    continue
                header = next((value for name, value in message.headers() or () if name == VALUE_HEADER), None)
                found.append(SampleRecord(message.key(), message.value(), header))
                if message.offset() + 1 >= filled[message.partition()].end:
                    unread.discard(message.partition())
        self._consumer.unassign()
        return found

    def records(self, topic: str, bounds: Mapping[int, Bounds]) -> Iterator[list[Any]]:
        """All committed records of the ranges, in batches of at most ``BATCH_RECORDS``."""
        unread = {each: bound for each, bound in bounds.items() if bound.end > bound.start}
        self._consumer.assign([TopicPartition(topic, each, bound.start) for each, bound in unread.items()])
        try:
            polls_left = round(IDLE_SECONDS_MAX / _POLL_SECONDS)
            while unread:
                messages: list[Any] = self._consumer.consume(BATCH_RECORDS, timeout=_POLL_SECONDS)
                polls_left = round(IDLE_SECONDS_MAX / _POLL_SECONDS) if messages else polls_left - 1
                if polls_left <= 0:
                    raise CannotRun(f"Topic {topic!r} cannot be read: no records came within {IDLE_SECONDS_MAX:g} seconds.")
                batch = [each for each in messages if self._is_wanted(each, unread)]
                if batch:
                    yield batch
        finally:
            self._consumer.unassign()

    def _is_wanted(self, message: Any, unread: dict[int, Bounds]) -> bool:
        """Also removes partitions from ``unread`` that are read to their end."""
        partition, bound = message.partition(), unread.get(message.partition())
        error = message.error()
        if error is not None and error.code() != _EOF:
            if error.retriable():
                return False
            raise CannotRun(f"Topic {message.topic()!r} cannot be read: {error.str()}.")
        if bound is None:
            return False
        # Transactions and compaction leave offsets without records, also at the end of a range: the
        # next record or the partition's end tells that the range is read.
        if error is not None or message.offset() + 1 >= bound.end:
            del unread[partition]
            self._consumer.incremental_unassign([TopicPartition(message.topic(), partition)])
        return error is None and message.offset() < bound.end


def as_json(topic: str, offsets: Mapping[int, int]) -> str:
    """In the notation of Spark's connector."""
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
