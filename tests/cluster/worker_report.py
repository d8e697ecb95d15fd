"""The report of a worker in a process of its own: lines on its stdout, which outlive it.

    ["taken", TOPIC, PARTITION, VALUE]                  the worker is about to send this value
    ["operation", OUTCOME, TRANSACTIONAL, SENT, POLLED] an operation is over
    ["moved"]                                           the worker reads from another position
    ["complaint", TEXT]                                 an error that no client should ever get

SENT and POLLED are lists of [TOPIC, PARTITION, VALUE, OFFSET]. Every line is written before the
worker goes on, so a worker that dies has reported each value before it could reach a broker, and
each acknowledgement before the next one. A value without an outcome at the death of its worker is
of unknown outcome. A line without its end is dropped: the worker died while writing it, so its
operation has no outcome either.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, BinaryIO

from tests.cluster.history import Journal, Key, Moved, Operation, Outcome, Polled, Sent

# Processes that write to the same partitions. Each has a number of its own, and its values are
# those that leave this number as the remainder, so no two processes send the same value.
PROCESSES_MAX = 1000


class ReportWriter:
    """The journal of a worker in its own process."""

    def __init__(self, output: BinaryIO, number: int) -> None:
        assert 0 <= number < PROCESSES_MAX, f"{number} processes were started"
        self._output = output
        self._number = number
        self._taken: Counter[Key] = Counter()

    def next_value(self, key: Key) -> int:
        self._taken[key] += 1
        value = self._taken[key] * PROCESSES_MAX + self._number
        self._write("taken", *key, value)
        return value

    def add(self, event: Operation | Moved) -> None:
        if isinstance(event, Moved):
            self._write("moved")
        else:
            sent = [(*each.key, each.value, each.offset) for each in event.sends]
            polled = [(*each.key, each.value, each.offset) for each in event.polls]
            self._write("operation", event.outcome.value, event.transactional, sent, polled)

    def complain(self, what: str) -> None:
        self._write("complaint", what)

    def _write(self, *line: Any) -> None:
        self._output.write(json.dumps(line).encode() + b"\n")
        self._output.flush()


class ReportReader:
    """Hands the events of one process to a journal, under the name of that process."""

    def __init__(self, process: str, journal: Journal, *, transactional: bool) -> None:
        self._process = process
        self._journal = journal
        self._transactional = transactional
        self._without_outcome: dict[tuple[Key, int], None] = {}

    def read(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            return
        match json.loads(line):
            case ["taken", topic, partition, value]:
                self._without_outcome[Key(topic, partition), value] = None
            case ["operation", outcome, transactional, sent, polled]:
                sends = [Sent(Key(topic, partition), value, offset) for topic, partition, value, offset in sent]
                polls = [Polled(Key(topic, partition), offset, value) for topic, partition, value, offset in polled]
                for each in sends:
                    del self._without_outcome[each.key, each.value]
                self._journal.add(Operation(self._process, Outcome(outcome), (*sends, *polls), transactional=transactional))
            case ["moved"]:
                self._journal.add(Moved(self._process))
            case ["complaint", text]:
                self._journal.complain(text)
            case other:
                raise ValueError(f"{self._process} reported {other}")

    def end(self) -> None:
        """The process has ended. A transactional worker has at most one open transaction, to which
        all values without an outcome belong."""
        unknown = tuple(Sent(key, value) for key, value in self._without_outcome)
        if unknown:
            self._journal.add(Operation(self._process, Outcome.INFO, unknown, transactional=self._transactional))
