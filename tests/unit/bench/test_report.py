"""The page and the table say what was measured, what failed and what was left out."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from bench import report
from bench.limits import LIMITS
from bench.measurement import Goal
from bench.report import Run, one_line, page, terminal_table
from bench.results import RowResult
from bench.rows import ALL
from tests.unit.bench.stage import OURS, THEIRS, StagedRow

BOTH: dict[str, list[tuple[float, ...]]] = {
    "barnabas": [(130.0, 5.0), (150.0, 4.0), (140.0, 6.0)],
    "kafka": [(100.0, 5.0), (100.0, 5.0), (100.0, 5.0)],
}


def run_of(*results: RowResult, rounds: int = 3, quick: bool = False, missing: str | None = None) -> Run:
    systems = [OURS] if missing else [OURS, THEIRS]
    return Run(
        date="2026-01-01",
        machine={"processor": "abacus, 2 cores"},
        systems=systems,
        versions={system.key: "1.0" for system in systems},
        rounds=rounds,
        quick=quick,
        missing=missing,
        results=results,
    )


def test_the_page_has_a_line_for_each_figure() -> None:
    lines = page(run_of(RowResult(StagedRow(goal=Goal(1.2)), rounds=dict(BOTH)))).splitlines()
    assert "| staged speed | MB/s | 140 (130-150) | 100 | 1.400 | >= 1.2 | met |" in lines
    assert "| staged delay | us | 5.00 (4.00-6.00) | 5.00 | 1.000 |  |  |" in lines
    assert "1 of 1 goals met." in lines
    assert "- **staged**: Nothing is measured." in lines
    assert "| processor | abacus, 2 cores |" in lines


def test_the_page_says_why_something_is_missing() -> None:
    failed = RowResult(StagedRow(), rounds={"barnabas": [(1.0, 1.0)]}, failures={"kafka": "it died"})
    skipped = RowResult(StagedRow(), skipped="no C compiler on this machine")
    text = page(run_of(failed, skipped))
    assert "- staged speed: Apache Kafka failed: it died" in text
    assert "- staged speed: skipped, no C compiler on this machine" in text
    assert "| staged speed | MB/s | 1.00 | failed |" in text
    assert "| staged speed | MB/s | skipped | skipped |" in text


def test_the_page_shows_the_charts_that_were_drawn() -> None:
    text = page(run_of(RowResult(StagedRow(), rounds=dict(BOTH))), ["memory", "ratios"])
    assert "](figures/ratios.svg)" in text
    assert text.index("](figures/ratios.svg)") < text.index("](figures/memory.svg)")
    assert "](figures/latency.svg)" not in text


def test_the_description_of_a_row_has_a_line_for_each_sentence() -> None:
    row = StagedRow()
    row.about = "One thing is measured. Another is not, e.g. this one."
    assert "- **staged**: One thing is measured.\n  Another is not, e.g. this one.\n" in page(run_of(RowResult(row)))


def test_the_page_says_why_goals_were_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "LIMITS", {"staged": "The stage is small. So it goes.", "another": "Not shown."})
    missed = page(run_of(RowResult(StagedRow(goal=Goal(1.5)), rounds=dict(BOTH))))
    assert "## Goals that were not met\n\n- **staged**: The stage is small.\n  So it goes.\n" in missed
    assert "Not shown." not in missed
    assert "The stage is small." not in page(run_of(RowResult(StagedRow(goal=Goal(1.2)), rounds=dict(BOTH))))


def test_every_limit_belongs_to_a_family_of_rows() -> None:
    assert LIMITS.keys() <= {row.family for row in ALL}


def test_a_run_that_proves_little_says_so() -> None:
    assert "This was a short run" in page(run_of(quick=True))
    assert "This was a short run" in page(run_of(rounds=1))
    assert "This was a short run" not in page(run_of())


def test_a_run_without_kafka_says_why() -> None:
    assert "Apache Kafka was not measured: no java on this machine." in page(run_of(missing="no java on this machine"))


def test_the_terminal_shows_what_the_page_shows() -> None:
    console = Console(width=140, file=(written := StringIO()))
    console.print(terminal_table(run_of(RowResult(StagedRow(goal=Goal(1.2)), rounds=dict(BOTH)))))
    text = written.getvalue()
    assert "140 (130-150)" in text
    assert "1 of 1 goals met" in text


def test_a_finished_row_prints_one_line_for_each_figure() -> None:
    result = RowResult(StagedRow(), rounds={"barnabas": [(1.0, 8.0)]}, failures={"kafka": "it died"})
    assert one_line(run_of(result), result) == [
        "staged speed, MB/s: Barnabas 1.00, Apache Kafka failed (it died)",
        "staged delay, us: Barnabas 8.00, Apache Kafka failed (it died)",
    ]


def test_every_figure_of_every_row_has_a_name_of_its_own() -> None:
    names = [figure.name for row in ALL for figure in row.figures]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.figures[0].name)
def test_every_row_says_what_it_is(row: StagedRow) -> None:
    assert row.about.endswith(".")
    assert row.family
