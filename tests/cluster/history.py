"""What clients did and what came of it, in the words of Jepsen's Kafka workload.

Values are whole numbers, unique per partition; those of one process to one partition grow in the order of sending. Every operation ends
as one of three: it happened, it certainly did not, or nobody knows. Whoever is in doubt says that nobody knows: an error that is taken
for *did not happen* would turn every late success into a false alarm.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Key(NamedTuple):
    """A partition."""

    topic: str
    partition: int


class Outcome(Enum):
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Sent:
    key: Key
    value: int
    # As the broker told it; none when it told nothing.
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Polled:
    key: Key
    offset: int
    value: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Of one process: a send, a poll, or a transaction of several of both."""

    process: str
    outcome: Outcome
    deeds: tuple[Sent | Polled, ...]
    transactional: bool = False

    @property
    def sends(self) -> Iterator[Sent]:
        return (deed for deed in self.deeds if isinstance(deed, Sent))

    @property
    def polls(self) -> Iterator[Polled]:
        return (deed for deed in self.deeds if isinstance(deed, Polled))


@dataclass(frozen=True, slots=True)
class Moved:
    """The process reads from elsewhere from now on: it was assigned other partitions, or began anew."""

    process: str


class History:
    """Many threads write, one reads when they are done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.events: list[Operation | Moved] = []
        # The values of a partition from its beginning to its end, read by read-committed consumers when all was over.
        self.final: dict[Key, list[Polled]] = defaultdict(list)
        self._next_value: Counter[Key] = Counter()
        self.outcomes: Counter[tuple[str, Outcome]] = Counter()
        self._acknowledged: Counter[Key] = Counter()
        self._read_by: Counter[str] = Counter()
        # What no client should ever be told, whatever happens to the cluster.
        self.complaints: list[str] = []

    def next_value(self, key: Key) -> int:
        with self._lock:
            self._next_value[key] += 1
            return self._next_value[key]

    def add(self, event: Operation | Moved) -> None:
        with self._lock:
            self.events.append(event)
            if isinstance(event, Operation):
                self.outcomes[_kind(event), event.outcome] += 1
                if event.outcome is Outcome.OK:
                    self._acknowledged.update(sent.key for sent in event.sends)
                    self._read_by[event.process] += sum(1 for _ in event.polls)

    def operations(self) -> Iterator[Operation]:
        return (event for event in self.events if isinstance(event, Operation))

    def done(self, kind: str, outcome: Outcome = Outcome.OK) -> int:
        """So many operations of a kind ended so: ``send``, ``poll`` or ``txn``."""
        with self._lock:
            return self.outcomes[kind, outcome]

    def acknowledged(self) -> dict[Key, int]:
        with self._lock:
            return dict(self._acknowledged)

    def read_by(self, name: str) -> int:
        """Records that processes whose name begins so have read."""
        with self._lock:
            return sum(count for process, count in self._read_by.items() if process.startswith(name))

    def complain(self, what: str) -> None:
        with self._lock:
            self.complaints.append(what)

    def summary(self) -> str:
        return ", ".join(f"{kind} {outcome.value} {count}" for (kind, outcome), count in sorted(self.outcomes.items(), key=str))


def _kind(operation: Operation) -> str:
    if operation.transactional:
        return "txn"
    return "send" if any(True for _ in operation.sends) else "poll"
