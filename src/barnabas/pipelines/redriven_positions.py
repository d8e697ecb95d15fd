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
``retention.bytes``    twice to four times ``POSITIONS_MAX``   the broker deletes the oldest
                                                               positions: the same
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from barnabas.administration.dead_letter import Position, decode, positions_topic_of
from barnabas.pipelines.errors import RunFailed

# A position takes about 200 bytes in memory.
POSITIONS_MAX = 500_000
# Time for a broker to return the next records.
_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.5
_RECORDS_AT_ONCE = 1000


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


def read_positions(config: Mapping[str, Any], dead_letters: str) -> Positions:
    """The positions that earlier redrives of this topic sent. Their topic exists; the producer of
    the current redrive is initialised, so that no earlier one can commit after this read."""
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    positions = Positions()
    own = {
        "group.id": positions_topic_of(dead_letters),
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
    with closing(Consumer({**config, **own, "auto.offset.reset": "earliest"})) as consumer:
        consumer.assign([TopicPartition(positions_topic_of(dead_letters), 0, 0)])
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
    name = positions_topic_of(dead_letters)
    raise RunFailed(f"Topic {name!r}, which has the positions sent before, was not read within {_PATIENCE_SECONDS:g} seconds.")
