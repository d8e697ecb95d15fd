"""A worker in a process of its own outlives the aborts of its client, and nothing else. Its
acknowledgements count in any case."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.cluster.checker import anomalies
from tests.cluster.history import History, Key, Operation, Outcome, Polled, Sent
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
        self.history.add(Operation(self.process, Outcome.OK, (Sent(T0, value, value // PROCESSES_MAX - 1),)))
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


@pytest.fixture
def aborted(tmp_path: Path) -> History:
    """The history of a worker that was aborted, and started again."""
    history, aborts = History(), list[str]()
    with process_of(AbortedWorker, history, tmp_path, aborts):
        until(lambda: history.acknowledged().get(T0) == 2, "the second process works", seen=lambda: history.complaints)
    assert aborts == [f"w: {ASSERTION}"]
    assert history.complaints == []
    return history


def test_aborted_worker_is_started_again_under_another_name(aborted: History) -> None:
    acknowledged = [(operation.process, *operation.sends) for operation in aborted.operations() if operation.outcome is Outcome.OK]
    assert acknowledged == [("w", Sent(T0, FIRST[0], 0)), ("w/2", Sent(T0, SECOND, 0))]


@pytest.mark.parametrize("also_there", [[], [FIRST[1]]], ids=["without the unknown value", "with it"])
def test_last_values_of_an_aborted_worker_are_of_unknown_outcome(aborted: History, also_there: list[int]) -> None:
    aborted.events = [event for event in aborted.events if event.process == "w"]
    aborted.final[T0] = [Polled(T0, offset, value) for offset, value in enumerate([FIRST[0], *also_there])]
    assert anomalies(aborted) == []


def test_abort_does_not_excuse_the_loss_of_an_acknowledged_record(aborted: History) -> None:
    aborted.final[T0] = [Polled(T0, 0, SECOND)]
    assert "lost-write" in {anomaly.kind for anomaly in anomalies(aborted)}


@pytest.mark.parametrize(
    ("kind", "words"), [(WorkerOfAnotherAbort, "double free or corruption"), (FailingWorker, "no client should get this")]
)
def test_every_other_end_of_a_worker_fails_the_test_with_its_words(kind: type[Worker], words: str, tmp_path: Path) -> None:
    history, aborts = History(), list[str]()
    with pytest.raises(AssertionError, match=words), process_of(kind, history, tmp_path, aborts):
        until(lambda: history.complaints, "the end of the worker is a complaint")
    assert aborts == []
