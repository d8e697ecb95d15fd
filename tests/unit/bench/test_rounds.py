"""Rounds alternate, the first measurement does not count, and one system's trouble is not the
other's.
"""

from __future__ import annotations

from bench.measurement import QUICK, Row
from bench.results import RowResult
from bench.rounds import measure_row, turns
from bench.systems import System
from tests.unit.bench.stage import OURS, THEIRS, StagedRow


def measured(row: StagedRow, rounds: int, announced: list[tuple[str, int]] | None = None) -> RowResult:
    def on_turn(_: Row, system: System, number: int) -> None:
        if announced is not None:
            announced.append((system.key, number))

    return measure_row(row, [OURS, THEIRS], rounds=rounds, effort=QUICK, on_turn=on_turn)


def test_the_systems_take_turns_at_going_first() -> None:
    order = [(number, system.key) for number, system in turns([OURS, THEIRS], 2)]
    assert order == [(0, "barnabas"), (0, "kafka"), (1, "kafka"), (1, "barnabas"), (2, "barnabas"), (2, "kafka")]


def test_sessions_last_for_all_rounds_and_measurements_are_interleaved() -> None:
    row = StagedRow()
    measured(row, rounds=1)
    assert row.transcript == [
        *("open barnabas", "barnabas", "open kafka", "kafka"),
        *("kafka", "barnabas"),
        *("close kafka", "close barnabas"),
    ]


def test_the_first_measurement_of_each_system_does_not_count() -> None:
    result = measured(StagedRow(), rounds=2)
    assert result.rounds == {"barnabas": [(2.0, 20.0), (3.0, 30.0)], "kafka": [(2.0, 20.0), (3.0, 30.0)]}


def test_every_turn_is_announced_before_it_is_taken() -> None:
    announced: list[tuple[str, int]] = []
    measured(StagedRow(), rounds=1, announced=announced)
    assert announced == [("barnabas", 0), ("kafka", 0), ("kafka", 1), ("barnabas", 1)]


def test_a_system_that_fails_is_left_alone_and_the_other_continues() -> None:
    result = measured(StagedRow(fails=("kafka", 1)), rounds=3)
    assert result.failures == {"kafka": "told to fail"}
    assert len(result.rounds["barnabas"]) == 3


def test_a_skipped_row_opens_no_session() -> None:
    row = StagedRow(skipped="no C compiler on this machine")
    assert measured(row, rounds=1).skipped == "no C compiler on this machine"
    assert row.transcript == []
