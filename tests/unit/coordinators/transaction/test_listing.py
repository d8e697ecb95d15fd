"""The transactional ids that ListTransactions shows."""

from __future__ import annotations

from barnabas.coordinators.transaction.listing import TransactionFilter
from barnabas.coordinators.transaction.state import STATE_BY_TITLE, TransactionState
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.pattern import Matcher, matcher

NOW_MS = 1_000_000
IDLE = Transaction("idle", 1, 0, 60_000, TransactionState.EMPTY, NOW_MS)
YOUNG = Transaction("young", 2, 0, 60_000, TransactionState.ONGOING, NOW_MS, NOW_MS - 10)
OLD = Transaction("old", 3, 0, 60_000, TransactionState.ONGOING, NOW_MS, NOW_MS - 5_000)


def matched(pattern: str) -> Matcher:
    made = matcher(pattern)
    assert not isinstance(made, str)
    return made


def shown(wanted: TransactionFilter) -> list[str]:
    return [each.transactional_id for each in (IDLE, YOUNG, OLD) if wanted.shows(each, NOW_MS)]


def test_an_empty_filter_shows_everything() -> None:
    assert shown(TransactionFilter()) == ["idle", "young", "old"]


def test_transactions_are_listed_by_state() -> None:
    assert shown(TransactionFilter(states=frozenset({TransactionState.ONGOING}))) == ["young", "old"]


def test_states_that_do_not_exist_show_nothing() -> None:
    assert shown(TransactionFilter(states=frozenset())) == []


def test_transactions_are_listed_by_producer() -> None:
    assert shown(TransactionFilter(producer_ids=frozenset({1, 3}))) == ["idle", "old"]


def test_transactions_are_listed_by_age_and_unstarted_ones_count_as_oldest() -> None:
    assert shown(TransactionFilter(running_ms_min=10)) == ["idle", "old"]
    assert shown(TransactionFilter(running_ms_min=9)) == ["idle", "young", "old"]


def test_transactions_are_listed_by_a_pattern_for_the_whole_id() -> None:
    assert shown(TransactionFilter(transactional_id=matched("o"))) == []
    assert shown(TransactionFilter(transactional_id=matched(".*o.*"))) == ["young", "old"]


def test_states_have_kafkas_names() -> None:
    assert list(STATE_BY_TITLE) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
