"""A compacted topic as a table: the last acknowledged value of every key, and its check.

Only the last values are kept, so the table does not grow with the topic. Kafka promises for each
key that its last acknowledged record stays, at its offset, until a later one of the key replaces
it. A value of unknown outcome may be that later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.cluster.checker import Anomaly
from tests.cluster.history import Key, Moved, Operation, Outcome, Polled

# No divisor of the distance between the values of one process, which therefore writes all keys.
KEYS = 101


def key_of(value: int) -> int:
    return value % KEYS


class _Place(NamedTuple):
    offset: int
    value: int


class CompactedTable:
    """The journal of the writers of one compacted partition, and of its readers. Their threads take
    turns by themselves: each event changes one entry."""

    def __init__(self, partition: Key) -> None:
        self._partition = partition
        self._last: dict[int, _Place] = {}
        self._unknown: set[int] = set()
        self.acknowledged = 0
        self.polled = 0
        self.complaints: list[str] = []

    def add(self, event: Operation | Moved) -> None:
        if isinstance(event, Moved):
            return
        self.polled += sum(1 for _ in event.polls)
        for sent in event.sends:
            if event.outcome is Outcome.OK:
                assert sent.offset is not None
                self.acknowledged += 1
                place = _Place(sent.offset, sent.value)
                self._last[key_of(sent.value)] = max(place, self._last.get(key_of(sent.value), place))
            else:
                self._unknown.add(sent.value)

    def complain(self, what: str) -> None:
        self.complaints.append(what)

    @property
    def unknown(self) -> int:
        """How many values are of unknown outcome."""
        return len(self._unknown)

    def anomalies(self, log: Iterable[Polled]) -> Iterator[Anomaly]:
        """``log`` is the partition from its beginning to its end."""
        found = {key_of(read.value): _Place(read.offset, read.value) for read in log}
        for key, last in sorted(self._last.items()):
            place = found.get(key)
            if place is None or place.offset < last.offset:
                yield Anomaly("lost-write", self._partition, f"{last.value} of key {key} was acknowledged at {last.offset}; found {place}")
        for key, place in sorted(found.items()):
            if place != self._last.get(key) and place.value not in self._unknown:
                yield Anomaly(
                    "phantom", self._partition, f"{place.value} of key {key} at {place.offset}: no worker sent it, or it was sent before"
                )
