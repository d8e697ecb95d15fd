"""Writes records to topics and reads them back, with a client independent of Spark."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.waiting import PATIENCE_SECONDS, until

# A client may complain about a broker that was stopped.
_silence = logging.getLogger("tests.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


@dataclass(frozen=True, slots=True)
class Read:
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]
    timestamp_ms: int

    @property
    def json(self) -> Any:
        assert self.value is not None
        return json.loads(self.value)


class Topics:
    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.bootstrap = bootstrap
        self._prefix = re.sub(r"[^A-Za-z0-9._-]", "-", prefix)[:150]
        config: dict[str, Any] = {"bootstrap.servers": bootstrap, "logger": _silence}
        self._admin = AdminClient(config)
        self._producer = Producer({**config, "linger.ms": 0})
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._made:
            for future in self._admin.delete_topics(self._made, request_timeout=PATIENCE_SECONDS).values():
                future.exception(PATIENCE_SECONDS)
        self._producer.close()
        with self._admin:  # the block closes it
            pass

    def name(self, topic: str) -> str:
        return f"{self._prefix}.{topic}"

    def create(self, topic: str, partitions: int = 1, **config: str) -> str:
        """Returns the full name. Underscores in settings become dots."""
        name = self.name(topic)
        settings = {key.replace("_", "."): value for key, value in config.items()}
        (future,) = self._admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values()
        future.result(PATIENCE_SECONDS)
        self._made.append(name)
        return name

    def send(self, name: str, values: Iterable[Any], *, key: str | None = None, partition: int = -1, **more: Any) -> None:
        """Values that are neither bytes nor None are sent as JSON. ``key`` is a field of each
        value, and its text becomes the record's key."""
        for value in values:
            raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            key_bytes = str(value[key]).encode() if key is not None else None
            self._producer.produce(name, raw, key_bytes, partition, **more)
        assert self._producer.flush(PATIENCE_SECONDS) == 0

    def send_record(
        self, name: str, key: bytes | None, value: bytes | None, headers: Mapping[str, bytes] | None = None, **more: Any
    ) -> None:
        self._producer.produce(name, value, key, headers=dict(headers or {}), **more)
        assert self._producer.flush(PATIENCE_SECONDS) == 0

    def read(self, name: str, *, isolation: str = "read_committed") -> list[Read]:
        """All records so far, partition by partition.

        A commit is answered when it is decided, which may be before read_committed consumers can
        see it. So this reads the end offset of uncommitted records, and waits until committed reads
        reach it."""
        with self._consumer("read_uncommitted") as all_seeing, self._consumer(isolation) as consumer:
            partitions = sorted(all_seeing.list_topics(name, timeout=PATIENCE_SECONDS).topics[name].partitions)
            ends = {each: all_seeing.get_watermark_offsets(TopicPartition(name, each), timeout=PATIENCE_SECONDS)[1] for each in partitions}
            return _read_to(consumer, name, ends)

    @contextmanager
    def _consumer(self, isolation: str) -> Iterator[Consumer]:
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "tests", "isolation.level": isolation, "enable.auto.commit": False}
        consumer = Consumer(settings)
        try:
            yield consumer
        finally:
            consumer.close()

    def values(self, name: str) -> list[Any]:
        """Parsed from JSON, in no order that matters."""
        return [each.json for each in self.read(name)]


def _read_to(consumer: Consumer, name: str, ends: Mapping[int, int]) -> list[Read]:
    consumer.assign([TopicPartition(name, each, 0) for each in ends])
    found: list[Read] = []

    def is_read() -> bool:
        if all(_position(consumer, name, each) >= end for each, end in ends.items() if end):
            return True
        message: Any  # confluent-kafka makes everything optional that a message has
        for message in consumer.consume(1000, timeout=0.1):
            assert message.error() is None, message.error()
            headers = dict(message.headers() or [])
            found.append(Read(message.partition(), message.offset(), message.key(), message.value(), headers, message.timestamp()[1]))
        return False

    until(is_read, f"{name} is read to its end, {ends}", seen=lambda: f"{len(found)} records", pause_seconds=0)
    return sorted(found, key=lambda each: (each.partition, each.offset))


def _position(consumer: Consumer, name: str, partition: int) -> int:
    return int(consumer.position([TopicPartition(name, partition)])[0].offset)
