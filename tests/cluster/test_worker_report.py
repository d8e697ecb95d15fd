"""A report gives back the events of its worker, and the values whose outcome it does not know."""

from __future__ import annotations

import io

import pytest

from tests.cluster.history import History, Key, Moved, Operation, Outcome, Polled, Sent
from tests.cluster.worker_report import PROCESSES_MAX, ReportReader, ReportWriter

T0, T1 = Key("t", 0), Key("t", 1)


def read(report: bytes, *, transactional: bool = False) -> History:
    history = History()
    reader = ReportReader("w", history, transactional=transactional)
    for line in report.splitlines(keepends=True):
        reader.read(line)
    reader.end()
    return history


def test_report_gives_back_every_event() -> None:
    output = io.BytesIO()
    writer = ReportWriter(output, 7)
    sent = Sent(T0, writer.next_value(T0), 5)
    events: list[Operation | Moved] = [
        Operation("w", Outcome.OK, (sent,)),
        Moved("w"),
        Operation("w", Outcome.OK, (Polled(T0, 5, sent.value), Polled(T1, 0, 1))),
        Operation("w", Outcome.FAIL, (Sent(T1, writer.next_value(T1)),), transactional=True),
    ]
    for event in events:
        writer.add(event)
    writer.complain("odd")
    history = read(output.getvalue())
    assert history.events == events
    assert history.complaints == ["odd"]


def test_values_of_two_processes_are_never_equal() -> None:
    writers = [ReportWriter(io.BytesIO(), number) for number in (0, 1, PROCESSES_MAX - 1)]
    values = [writer.next_value(T0) for writer in writers for _ in range(1000)]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("transactional", [False, True])
def test_values_without_an_outcome_at_the_end_are_of_unknown_outcome(transactional: bool) -> None:
    output = io.BytesIO()
    writer = ReportWriter(output, 0)
    taken = [Sent(key, writer.next_value(key)) for key in (T0, T1)]
    history = read(output.getvalue(), transactional=transactional)
    assert history.events == [Operation("w", Outcome.INFO, tuple(taken), transactional=transactional)]


def test_line_without_its_end_is_dropped() -> None:
    output = io.BytesIO()
    writer = ReportWriter(output, 0)
    value = writer.next_value(T0)
    writer.add(Operation("w", Outcome.OK, (Sent(T0, value, 0),)))
    history = read(output.getvalue()[:-1])
    assert history.events == [Operation("w", Outcome.INFO, (Sent(T0, value),))]
