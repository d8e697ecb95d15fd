"""Compares a history with Kafka's promises. The rules and their names are those of Jepsen's Kafka
workload.

anomaly                what it means
====================   ===========================================================================
inconsistent-offsets   two values are at one offset
duplicate              one value is at two offsets, which idempotence rules out
lost-write             a value is not in the log at the end, although it was acknowledged or
                       another value of its transaction was read
aborted-read           a read-committed consumer saw a value that was never committed
phantom                a consumer saw a value that no client sent
reordered              the values of one producer are in another order than it sent them
nonmonotonic-poll      a consumer went backwards
poll-skip              a consumer skipped a value that is in the log
gap                    an offset holds nothing, in a partition without transactions
G1c                    transactions read from each other in a circle

Kafka does not isolate transactions from each other's writes, so the checker does not look for that
anomaly (G0).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from tests.cluster.history import History, Key, Moved, Operation, Outcome, Polled

# One broken promise affects thousands of records; the first few are enough to explain it.
SHOWN_MAX = 10


class Anomaly(NamedTuple):
    kind: str
    key: Key | None
    story: str

    def __str__(self) -> str:
        where = f" {self.key.topic}-{self.key.partition}" if self.key is not None else ""
        return f"{self.kind}{where}: {self.story}"


def anomalies(history: History, *, duplicates_allowed: bool = False) -> list[Anomaly]:
    """All anomalies of a history whose final reads are done. ``duplicates_allowed`` is for
    producers without idempotence."""
    writers = _writers(history)
    found = [*_inconsistent_offsets(history), *_lost(history), *_unwritten(history, writers), *_polls_out_of_order(history)]
    found += [*_gaps(history), *_circles(history, writers)]
    if not duplicates_allowed:
        found += [*_duplicates(history), *_reordered(history, writers)]
    return found


def check(history: History, *, duplicates_allowed: bool = False) -> None:
    found = anomalies(history, duplicates_allowed=duplicates_allowed)
    story = "\n".join(map(str, found[:SHOWN_MAX]))
    assert not found, f"{len(found)} anomalies in {history.summary()}:\n{story}"


Writers = dict[tuple[Key, int], Operation]


def _writers(history: History) -> Writers:
    return {(sent.key, sent.value): operation for operation in history.operations() for sent in operation.sends}


def _reads(history: History) -> Iterator[Polled]:
    """The reads of all clients at any time, in transactions that did not fail."""
    for operation in history.operations():
        if operation.outcome is not Outcome.FAIL:
            yield from operation.polls
    for records in history.final.values():
        yield from records


def _inconsistent_offsets(history: History) -> Iterator[Anomaly]:
    at: dict[Key, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for operation in history.operations():
        # Aborted data occupies its offsets in the log too.
        for sent in operation.sends:
            if sent.offset is not None:
                at[sent.key][sent.offset].add(sent.value)
    for read in _reads(history):
        at[read.key][read.offset].add(read.value)
    for key, offsets in at.items():
        for offset, values in sorted(offsets.items()):
            if len(values) > 1:
                yield Anomaly("inconsistent-offsets", key, f"{sorted(values)} are all at {offset}")


def _duplicates(history: History) -> Iterator[Anomaly]:
    places: dict[tuple[Key, int], set[int]] = defaultdict(set)
    for read in _reads(history):
        places[read.key, read.value].add(read.offset)
    for (key, value), offsets in places.items():
        if len(offsets) > 1:
            yield Anomaly("duplicate", key, f"{value} is at {sorted(offsets)}")


def _lost(history: History) -> Iterator[Anomaly]:
    there = {key: {read.value for read in records} for key, records in history.final.items()}
    for operation in history.operations():
        sends = list(operation.sends)
        seen = [sent for sent in sends if sent.value in there.get(sent.key, ())]
        committed = operation.outcome is Outcome.OK or (operation.outcome is Outcome.INFO and operation.transactional and bool(seen))
        if committed and len(seen) < len(sends):
            for sent in sends:
                if sent not in seen:
                    ends = history.final[sent.key][-1].offset + 1 if history.final.get(sent.key) else 0
                    how = "was acknowledged" if operation.outcome is Outcome.OK else "belongs to a transaction of which something is there"
                    yield Anomaly(
                        "lost-write", sent.key, f"{sent.value} of {operation.process} {how} at {sent.offset}; the log ends at {ends}"
                    )


def _unwritten(history: History, writers: Writers) -> Iterator[Anomaly]:
    seen: set[tuple[Key, int]] = set()
    for read in _reads(history):
        if (read.key, read.value) in seen:
            continue
        seen.add((read.key, read.value))
        writer = writers.get((read.key, read.value))
        if writer is None:
            yield Anomaly("phantom", read.key, f"{read.value} at {read.offset} was sent by nobody")
        elif writer.outcome is Outcome.FAIL:
            yield Anomaly("aborted-read", read.key, f"{read.value} at {read.offset} of {writer.process} never happened")


def _reordered(history: History, writers: Writers) -> Iterator[Anomaly]:
    for key, records in history.final.items():
        last: dict[str, int] = {}
        for read in records:
            writer = writers.get((key, read.value))
            if writer is None:
                continue
            before = last.get(writer.process, -1)
            # The same value again is a duplicate, and reported as one.
            if read.value < before:
                yield Anomaly(
                    "reordered", key, f"{writer.process} sent {read.value} before {before}, and it is behind it, at {read.offset}"
                )
            last[writer.process] = read.value


def _polls_out_of_order(history: History) -> Iterator[Anomaly]:
    offsets = {key: sorted({read.offset for read in records}) for key, records in history.final.items()}
    position: dict[tuple[str, Key], int] = {}
    for event in history.events:
        if isinstance(event, Moved):
            position = {place: offset for place, offset in position.items() if place[0] != event.process}
            continue
        for read in event.polls:
            before = position.get((event.process, read.key))
            position[event.process, read.key] = read.offset
            if before is None:
                continue
            if read.offset <= before:
                yield Anomaly("nonmonotonic-poll", read.key, f"{event.process} read {read.offset} after {before}")
            else:
                there = offsets.get(read.key, [])
                passed = there[bisect_right(there, before) : bisect_left(there, read.offset)]
                if passed:
                    yield Anomaly("poll-skip", read.key, f"{event.process} read {read.offset} after {before}, without {passed[:5]}")


def _gaps(history: History) -> Iterator[Anomaly]:
    """Transaction markers and aborted records occupy offsets too."""
    transactional = {sent.key for operation in history.operations() if operation.transactional for sent in operation.sends}
    for key, records in history.final.items():
        if key in transactional:
            continue
        expected = 0
        for read in records:
            if read.offset != expected:
                yield Anomaly("gap", key, f"{read.offset} follows {expected - 1}")
            expected = read.offset + 1


def _circles(history: History, writers: Writers) -> Iterator[Anomaly]:
    """Only reads count: Kafka allows circles that involve the order of writes."""
    number = {id(operation): place for place, operation in enumerate(history.operations())}
    graph: dict[int, set[int]] = defaultdict(set)
    for operation in history.operations():
        if not operation.transactional or operation.outcome is not Outcome.OK:
            continue
        for read in operation.polls:
            writer = writers.get((read.key, read.value))
            if writer is operation:
                yield Anomaly("G1c", read.key, f"{operation.process} read its own {read.value} before it was committed")
            elif writer is not None and writer.transactional:
                graph[number[id(operation)]].add(number[id(writer)])
    circle = _circle(graph)
    if circle:
        named = list(history.operations())
        yield Anomaly("G1c", None, " read from ".join(named[place].process for place in circle))


def _circle(graph: dict[int, set[int]]) -> Iterable[int]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[int] = error.args[1]
        return circle
    return ()
