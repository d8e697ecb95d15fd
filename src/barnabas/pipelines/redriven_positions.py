"""The source records that a redrive has sent, so that a repeated dead letter is not sent a second
time.

A dead letter may be in its topic more than once: a writer that is not exactly once repeats the
letters of its last batch after a crash, and a pipeline with a new checkpoint reads its topic from
the beginning. All of them carry the position of the same source record. A redrive sends each
position once, also when the repeats lie beyond the point that an earlier redrive reached.

So every transaction of a redrive also writes one record with the positions it sent, to
``barnabas.redriven.<dead-letter topic>``. The next redrive reads that topic before it starts.
Positions that a redrive leaves in the topic (because of a filter) are remembered only until it
ends, because a later redrive may send them.

limit                  why this number                         beyond it
====================   =====================================   =====================================
``POSITIONS_MAX``      about 100 MB of memory in the           the older half is forgotten: repeats
                       redriving process                       of those letters are sent again, and
                                                               the command says so
``_TOPIC_BYTES_MAX``   twice to four times ``POSITIONS_MAX``   the broker deletes the oldest
                                                               positions: the same
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from barnabas.pipelines.errors import RunFailed

# A position takes about 200 bytes in memory.
POSITIONS_MAX = 500_000
_TOPIC_BYTES_MAX = 64 * 1024 * 1024
# The broker deletes whole segments, so they are small compared with the topic.
_SEGMENT_BYTES = 8 * 1024 * 1024
TOPIC_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": str(_TOPIC_BYTES_MAX),
    "segment.bytes": str(_SEGMENT_BYTES),
}
# Time for a broker to return the next records.
_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.5
_RECORDS_AT_ONCE = 1000


class Position(NamedTuple):
    """The position of a source record. The timestamp distinguishes it from a record with the same
    offset after the topic was deleted and created again."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None


class Positions:
    """A set that forgets its older half when it is full."""

    def __init__(self, limit: int = POSITIONS_MAX) -> None:
        self._generation_max = max(1, limit // 2)
        self._older: set[Position] = set()
        self._newer: set[Position] = set()
        self.forgotten = 0

    def add(self, position: Position) -> bool:
        """Returns whether the position is new."""
        if position in self._newer or position in self._older:
            return False
        if len(self._newer) >= self._generation_max:
            self.forgotten += len(self._older)
            self._older, self._newer = self._newer, set()
        self._newer.add(position)
        return True


def topic_of(dead_letters: str) -> str:
    return f"barnabas.redriven.{dead_letters}"


def encode(positions: Iterable[Position]) -> bytes:
    """The value of one record: the positions that one transaction sent."""
    by_topic: dict[str, list[tuple[int, int, int | None]]] = defaultdict(list)
    for topic, partition, offset, timestamp_ms in positions:
        by_topic[topic].append((partition, offset, timestamp_ms))
    return json.dumps({"sent": by_topic}, separators=(",", ":")).encode()


def decode(value: bytes) -> Iterator[Position]:
    for topic, found in json.loads(value)["sent"].items():
        for partition, offset, timestamp_ms in found:
            yield Position(topic, partition, offset, timestamp_ms)


def read_positions(config: Mapping[str, Any], dead_letters: str) -> Positions:
    """The positions that earlier redrives of this topic sent. Their topic exists; the producer of
    the current redrive is initialised, so that no earlier one can commit after this read."""
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    positions = Positions()
    own = {
        "group.id": topic_of(dead_letters),
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
    with closing(Consumer({**config, **own, "auto.offset.reset": "earliest"})) as consumer:
        consumer.assign([TopicPartition(topic_of(dead_letters), 0, 0)])
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for message in consumer.consume(_RECORDS_AT_ONCE, timeout=_POLL_SECONDS):
                deadline = time.monotonic() + _PATIENCE_SECONDS
                error, value = message.error(), message.value()
                if error is None:
                    for each in decode(value) if value else ():
                        positions.add(each)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own codes begin with an underscore
                    return positions
                else:
                    raise KafkaException(error)
    raise RunFailed(
        f"Topic {topic_of(dead_letters)!r}, which has the positions sent before, was not read within {_PATIENCE_SECONDS:g} seconds."
    )
