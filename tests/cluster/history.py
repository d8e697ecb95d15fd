"""The operations of clients and their outcomes, in the terms of Jepsen's Kafka workload.

Values are whole numbers, unique per partition; those of one process to one partition grow in the
order of sending. Every operation has one of three outcomes: it happened, it certainly did not, or
its outcome is unknown. In doubt a client records *unknown*: an error that is taken for *did not
happen* would turn every late success into a false alarm.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol


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
    # The offset from the broker's response, or None without one.
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Polled:
    key: Key
    offset: int
    value: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of one process: a send, a poll, or a transaction of several of both."""

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
    """The process reads from another position from now on: it was assigned other partitions, or it
    started again."""

    process: str


class Journal(Protocol):
    """Takes the events of clients."""

    def add(self, event: Operation | Moved) -> None: ...

    def complain(self, what: str) -> None:
        """Takes an error that no client should ever get, whatever happens to the cluster."""


class WorkerJournal(Journal, Protocol):
    """The journal that a worker writes itself."""

    def next_value(self, key: Key) -> int:
        """The value that the worker sends next to this partition."""


class History:
    """Many threads write it, and one reads it when they are done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.events: list[Operation | Moved] = []
        # The values of every partition from its beginning to its end, read by read-committed
        # consumers at the end of the run.
        self.final: dict[Key, list[Polled]] = defaultdict(list)
        self._next_value: Counter[Key] = Counter()
        self.outcomes: Counter[tuple[str, Outcome]] = Counter()
        self._acknowledged: Counter[Key] = Counter()
        self._read_by: Counter[str] = Counter()
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
        """How many operations of a kind (``send``, ``poll`` or ``txn``) had this outcome."""
        with self._lock:
            return self.outcomes[kind, outcome]

    def acknowledged(self) -> dict[Key, int]:
        with self._lock:
            return dict(self._acknowledged)

    def read_by(self, name: str) -> int:
        """How many records the processes whose name begins with ``name`` have read."""
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
