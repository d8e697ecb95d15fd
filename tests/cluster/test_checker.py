"""The checker finds every anomaly that it knows, and none in a correct history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.cluster.checker import anomalies, check
from tests.cluster.history import History, Key, Moved, Operation, Outcome, Polled, Sent

T0, T1 = Key("t", 0), Key("t", 1)


def sent(value: int, offset: int | None, *, key: Key = T0, process: str = "p", outcome: Outcome = Outcome.OK) -> Operation:
    return Operation(process, outcome, (Sent(key, value, offset),))


def polled(*offsets_and_values: tuple[int, int], process: str = "c", key: Key = T0) -> Operation:
    return Operation(process, Outcome.OK, tuple(Polled(key, offset, value) for offset, value in offsets_and_values))


def transaction(outcome: Outcome, *deeds: Sent | Polled, process: str = "x") -> Operation:
    return Operation(process, outcome, deeds, transactional=True)


def history(*events: Operation | Moved, final: list[tuple[int, int]], final_1: list[tuple[int, int]] | None = None) -> History:
    made = History()
    for event in events:
        made.add(event)
    for key, records in ((T0, final), (T1, final_1)):
        if records is not None:
            made.final[key] = [Polled(key, offset, value) for offset, value in records]
    return made


def kinds(made: History) -> list[str]:
    return [anomaly.kind for anomaly in anomalies(made)]


def test_the_checker_finds_no_anomaly_in_a_correct_history() -> None:
    made = history(
        sent(1, 0),
        sent(2, 1),
        sent(3, None, outcome=Outcome.INFO),
        sent(4, None, outcome=Outcome.FAIL),
        sent(5, 3),
        polled((0, 1), (1, 2)),
        polled((2, 3), (3, 5)),
        transaction(Outcome.OK, Sent(T1, 1, 0), Sent(T1, 2, 1)),
        transaction(Outcome.FAIL, Sent(T1, 3, 3)),
        transaction(Outcome.INFO, Sent(T1, 4, 5)),
        final=[(0, 1), (1, 2), (2, 3), (3, 5)],
        final_1=[(0, 1), (1, 2), (5, 4)],
    )
    assert anomalies(made) == []
    check(made)


def test_a_send_of_unknown_outcome_may_be_in_the_log_or_not() -> None:
    for final in ([(0, 1)], [(0, 1), (1, 2)]):
        assert kinds(history(sent(1, 0), sent(2, None, outcome=Outcome.INFO), final=final)) == []


def test_the_checker_finds_two_values_at_one_offset() -> None:
    assert kinds(history(sent(1, 0), sent(2, 1), polled((0, 1), (1, 3)), sent(3, None, outcome=Outcome.INFO), final=[(0, 1), (1, 2)])) == [
        "inconsistent-offsets"
    ]


def test_aborted_data_may_occupy_offsets() -> None:
    aborted, committed = transaction(Outcome.FAIL, Sent(T0, 1, 0)), transaction(Outcome.OK, Sent(T0, 2, 0))
    assert kinds(history(aborted, committed, final=[(0, 2)])) == ["inconsistent-offsets"]


def test_the_checker_finds_a_duplicate() -> None:
    made = history(sent(1, 0), sent(2, 1), final=[(0, 1), (1, 2), (2, 2)])
    assert kinds(made) == ["duplicate"]
    assert anomalies(made, duplicates_allowed=True) == []


def test_the_checker_finds_a_lost_acknowledged_value() -> None:
    assert kinds(history(sent(1, 0), sent(2, 1), final=[(0, 1)])) == ["lost-write"]
    assert kinds(history(sent(1, 0), final=[])) == ["lost-write"]


def test_the_checker_finds_half_a_transaction() -> None:
    torn = transaction(Outcome.INFO, Sent(T0, 1, 0), Sent(T1, 1, 0))
    assert kinds(history(torn, final=[(0, 1)], final_1=[])) == ["lost-write"]
    assert kinds(history(torn, final=[], final_1=[])) == []


def test_the_checker_finds_a_read_of_aborted_data() -> None:
    aborted = transaction(Outcome.FAIL, Sent(T0, 1, 0))
    assert kinds(history(aborted, final=[(0, 1)])) == ["aborted-read"]
    assert kinds(history(aborted, polled((0, 1)), final=[])) == ["aborted-read"]


def test_the_checker_finds_a_value_that_no_client_sent() -> None:
    assert kinds(history(sent(1, 0), final=[(0, 1), (1, 7)])) == ["phantom"]


def test_the_checker_finds_values_of_one_producer_out_of_order() -> None:
    assert kinds(history(sent(1, 1), sent(2, 0), final=[(0, 2), (1, 1)])) == ["reordered"]
    assert kinds(history(sent(1, 1), sent(2, 0, process="q"), final=[(0, 2), (1, 1)])) == []


def test_the_checker_finds_a_consumer_that_goes_backwards() -> None:
    log = [(0, 1), (1, 2)]
    assert kinds(history(sent(1, 0), sent(2, 1), polled((1, 2)), polled((0, 1)), final=log)) == ["nonmonotonic-poll"]
    assert kinds(history(sent(1, 0), sent(2, 1), polled((1, 2)), Moved("c"), polled((0, 1)), final=log)) == []
    assert kinds(history(sent(1, 0), sent(2, 1), polled((1, 2)), polled((0, 1), process="d"), final=log)) == []


def test_the_checker_finds_a_consumer_that_skips_a_value() -> None:
    log = [(0, 1), (1, 2), (2, 3)]
    sends = [sent(value, offset) for offset, value in log]
    assert kinds(history(*sends, polled((0, 1), (2, 3)), final=log)) == ["poll-skip"]
    assert kinds(history(*sends, polled((0, 1)), Moved("c"), polled((2, 3)), final=log)) == []


def test_the_checker_finds_a_read_at_an_empty_offset() -> None:
    plain = [sent(1, 0), sent(2, 2)]
    assert kinds(history(*plain, final=[(0, 1), (2, 2)])) == ["gap"]
    # With transactions, their markers occupy such offsets.
    assert kinds(history(*(replace(each, transactional=True) for each in plain), final=[(0, 1), (2, 2)])) == []


def test_the_checker_finds_transactions_that_read_from_each_other() -> None:
    one = transaction(Outcome.OK, Sent(T0, 1, 0), Polled(T1, 0, 1), process="one")
    other = transaction(Outcome.OK, Sent(T1, 1, 0), Polled(T0, 0, 1), process="other")
    assert kinds(history(one, other, final=[(0, 1)], final_1=[(0, 1)])) == ["G1c"]
    assert kinds(history(transaction(Outcome.OK, Sent(T0, 1, 0), Polled(T0, 0, 1)), final=[(0, 1)])) == ["G1c"]


def test_a_failed_check_names_its_anomalies_and_counts_operations() -> None:
    with pytest.raises(AssertionError, match=r"1 anomalies in send ok 2:\nlost-write t-0: 2 of p was acknowledged at 1; the log ends at 1"):
        check(history(sent(1, 0), sent(2, 1), final=[(0, 1)]))
