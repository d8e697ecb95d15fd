"""Results that are written down are read back as they were."""

from __future__ import annotations

import json

from bench.__main__ import PAGE
from bench.kept_results import KeptResults, dump, load
from bench.measurement import Better, Figure, Goal
from bench.report import Run, page
from bench.results import Comparison, Occasion, RowResult, Spread, three_digits
from tests.unit.bench.stage import OURS, THEIRS, StagedRow

RESULTS = KeptResults(
    Occasion("2026-01-01", {"barnabas": "1.0", "kafka": "4.3.0"}, 3),
    [
        Comparison(
            Figure("speed", "MB/s", Better.HIGHER, Goal(1.2, ours=3.0)), {"barnabas": Spread(2.0, 1.5, 2.5), "kafka": Spread(1, 1, 1)}
        ),
        Comparison(Figure("delay", "us", Better.LOWER), {"barnabas": Spread(5.0, 4.0, 6.0)}),
    ],
)


def test_results_survive_dump_and_load() -> None:
    assert load(dump(RESULTS)) == RESULTS


def test_the_file_has_a_line_for_each_figure() -> None:
    text = dump(RESULTS)
    assert json.loads(text)["rounds"] == 3
    assert sum('"name":' in line for line in text.splitlines()) == 2


def test_results_without_a_figure_can_be_kept() -> None:
    empty = KeptResults(Occasion("2026-01-01", {}, 1), [])
    assert load(dump(empty)) == empty


def test_rows_of_earlier_runs_are_kept_with_the_run_they_are_of() -> None:
    row, before = StagedRow(goal=Goal(1.2)), Occasion("2025-12-31", {"barnabas": "0.9", "kafka": "4.3.0"}, 5)
    measured = RowResult(row, rounds={"barnabas": [(3.0, 5.0)], "kafka": [(1.0, 5.0)]})
    first = KeptResults(before, measured.comparisons())
    (kept,) = load(dump(first)).earlier_results([row])
    assert kept.comparisons() == measured.comparisons()
    assert kept.earlier is not None
    assert kept.earlier.occasion == before
    later = Run("2026-01-01", {}, [OURS, THEIRS], {"barnabas": "1.0", "kafka": "4.3.0"}, 3, quick=False, missing=None, results=[kept])
    assert load(dump(later.kept())).earlier == dict.fromkeys(("staged speed", "staged delay"), before)
    text = page(later)
    assert "| staged speed | MB/s | 3.00 | 1.00 | 3.000 | >= 1.2 | met |" in text
    assert "2025-12-31, Barnabas 0.9, 5 rounds:\n\n- staged speed\n" in text


def test_a_row_that_has_a_new_figure_is_not_kept() -> None:
    row = StagedRow()
    half = RowResult(row, rounds={"barnabas": [(3.0, 5.0)]}).comparisons()[:1]
    assert KeptResults(RESULTS.latest, half).earlier_results([row]) == []


def test_the_committed_results_are_those_of_the_committed_page() -> None:
    text = PAGE.read_text("utf-8")
    for comparison in load(PAGE.with_suffix(".json").read_text()).comparisons:
        medians = [three_digits(spread.median) for spread in comparison.spreads.values()]
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {comparison.figure.name} |"))
        assert all(f" {median} " in row for median in medians)
