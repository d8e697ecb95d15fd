"""Results that are written down are read back as they were."""

from __future__ import annotations

import json

from bench.__main__ import PAGE
from bench.kept_results import KeptResults, dump, load
from bench.measurement import Better, Figure, Goal
from bench.results import Comparison, Spread, three_digits

RESULTS = KeptResults(
    date="2026-01-01",
    versions={"barnabas": "1.0", "kafka": "4.3.0"},
    rounds=3,
    comparisons=[
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
    empty = KeptResults("2026-01-01", {}, 1, [])
    assert load(dump(empty)) == empty


def test_the_committed_results_are_those_of_the_committed_page() -> None:
    page = PAGE.read_text("utf-8")
    for comparison in load(PAGE.with_suffix(".json").read_text()).comparisons:
        medians = [three_digits(spread.median) for spread in comparison.spreads.values()]
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {comparison.figure.name} |"))
        assert all(f" {median} " in row for median in medians)
