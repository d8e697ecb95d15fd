"""The table of a compacted topic finds lost and unknown records."""

from __future__ import annotations

import pytest

from tests.cluster.compacted_table import KEYS, CompactedTable
from tests.cluster.history import Key, Operation, Outcome, Polled, Sent

T0 = Key("t", 0)
# Values of one key, oldest first, and one of another key.
OLD, LAST, LATER = (3 + number * KEYS for number in range(3))
OTHER = 4


@pytest.fixture
def table() -> CompactedTable:
    made = CompactedTable(T0)
    for offset, value in ((0, OLD), (1, OTHER), (2, LAST)):
        made.add(Operation("p", Outcome.OK, (Sent(T0, value, offset),)))
    return made


def kinds(table: CompactedTable, *log: tuple[int, int]) -> list[str]:
    return [anomaly.kind for anomaly in table.anomalies(Polled(T0, offset, value) for offset, value in log)]


def test_table_accepts_a_log_with_or_without_replaced_records(table: CompactedTable) -> None:
    assert kinds(table, (0, OLD), (1, OTHER), (2, LAST)) == []
    assert kinds(table, (1, OTHER), (2, LAST)) == []


def test_table_finds_a_key_without_its_last_acknowledged_record(table: CompactedTable) -> None:
    assert kinds(table, (2, LAST)) == ["lost-write"]
    assert "lost-write" in kinds(table, (0, OLD), (1, OTHER))


def test_table_finds_a_record_at_another_offset_than_acknowledged(table: CompactedTable) -> None:
    assert kinds(table, (1, OTHER), (2, LAST), (3, LAST)) == ["phantom"]


def test_value_of_unknown_outcome_may_only_replace_an_earlier_one(table: CompactedTable) -> None:
    assert kinds(table, (1, OTHER), (2, LAST), (3, LATER)) == ["phantom"]
    table.add(Operation("p", Outcome.INFO, (Sent(T0, LATER),)))
    assert kinds(table, (1, OTHER), (2, LAST), (3, LATER)) == []
    assert kinds(table, (1, OTHER), (2, LAST)) == []
    assert kinds(table, (0, OLD), (1, OTHER), (1, LATER)) == ["lost-write"]
