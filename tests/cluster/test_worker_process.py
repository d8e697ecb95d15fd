"""A worker in a process of its own outlives the aborts of its client, and nothing else. Its
acknowledgements count in any case."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.cluster.checker import anomalies
from tests.cluster.history import History, Key, Moved, Operation, Outcome, Polled, Sent
from tests.cluster.worker_process import WorkerProcess
from tests.cluster.worker_report import PROCESSES_MAX
from tests.cluster.workers import Worker, working
from tests.waiting import until

T0 = Key("t", 0)
ASSERTION = "python: rdkafka_queue.h:1052: rd_kafka_enq_once_del_source_return: Assertion `eonce->refcnt > 0' failed."
# The values of the first process and of the second one.
FIRST = [1 * PROCESSES_MAX, 2 * PROCESSES_MAX]
SECOND = 1 * PROCESSES_MAX + 1


class AbortedWorker(Worker):
    """Its first process takes two values, reports the acknowledgement of one, and aborts. The next
    one goes on."""

    WORDS = ASSERTION

    def begin(self) -> None:
        pass

    def go_round(self) -> None:
        value = self.history.next_value(T0)
        if value == FIRST[1]:
            print(self.WORDS, file=sys.stderr, flush=True)
            os.abort()
        self.history.add(Operation(self.process, Outcome.OK, (Sent(T0, value, value % PROCESSES_MAX),)))
        if value == SECOND:
            self._stop.wait()

    def end(self) -> None:
        pass


class WorkerOfAnotherAbort(AbortedWorker):
    WORDS = "double free or corruption"


class FailingWorker(AbortedWorker):
    def go_round(self) -> None:
        raise ValueError("no client should get this")


@contextmanager
def process_of(kind: type[Worker], history: History, evidence: Path, aborts: list[str]) -> Iterator[None]:
    with working([WorkerProcess(kind, "w", history, [T0], settings={}, seed=0, evidence=evidence, numbers=count(), aborts=aborts)]):
        yield


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Operation | Moved]:
    """Those of a worker that was aborted, and started again."""
    history, aborts = History(), list[str]()
    with process_of(AbortedWorker, history, tmp_path_factory.mktemp("aborted"), aborts):
        until(lambda: history.acknowledged().get(T0) == 2, "the second process works", seen=lambda: history.complaints)
    assert aborts == [f"w: {ASSERTION}"]
    assert history.complaints == []
    return tuple(history.events)


def kinds(events: Iterable[Operation | Moved], *log: int) -> set[str]:
    """The anomalies of a log with these values."""
    history = History()
    for event in events:
        history.add(event)
    history.final[T0] = [Polled(T0, offset, value) for offset, value in enumerate(log)]
    return {anomaly.kind for anomaly in anomalies(history)}


def test_aborted_worker_is_started_again_under_another_name(events: Sequence[Operation | Moved]) -> None:
    operations = [event for event in events if isinstance(event, Operation)]
    assert [(each.process, each.outcome, *each.sends) for each in operations] == [
        ("w", Outcome.OK, Sent(T0, FIRST[0], 0)),
        ("w", Outcome.INFO, Sent(T0, FIRST[1])),
        ("w/2", Outcome.OK, Sent(T0, SECOND, 1)),
    ]


def test_last_value_of_an_aborted_worker_may_be_in_the_log_or_not(events: Sequence[Operation | Moved]) -> None:
    assert kinds(events, FIRST[0], SECOND) == set()
    assert kinds(events, FIRST[0], SECOND, FIRST[1]) == set()


def test_abort_does_not_excuse_the_loss_of_an_acknowledged_record(events: Sequence[Operation | Moved]) -> None:
    assert "lost-write" in kinds(events, FIRST[0])
    assert "lost-write" in kinds(events, FIRST[1], SECOND)


@pytest.mark.parametrize(
    ("kind", "words"), [(WorkerOfAnotherAbort, "double free or corruption"), (FailingWorker, "no client should get this")]
)
def test_every_other_end_of_a_worker_fails_the_test_with_its_words(kind: type[Worker], words: str, tmp_path: Path) -> None:
    history, aborts = History(), list[str]()
    with pytest.raises(AssertionError, match=words), process_of(kind, history, tmp_path, aborts):
        until(lambda: history.complaints, "the end of the worker is a complaint")
    assert aborts == []
