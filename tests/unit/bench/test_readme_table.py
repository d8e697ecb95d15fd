"""The README's table has the numbers of docs/benchmarks.md, and nothing else of the README
changes when it is written.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import kept_results
from bench.measurement import Better, Figure
from bench.readme_table import BEGIN, END, LINES, table, with_table
from bench.results import Comparison, spread
from bench.rows import ALL

ROOT = Path(__file__).resolve().parents[3]


def compared(name: str, ours: float, theirs: float) -> Comparison:
    return Comparison(Figure(name, "", Better.HIGHER), {"barnabas": spread([ours]), "kafka": spread([theirs])})


def test_readme_shows_the_numbers_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text()
    kept = kept_results.load((ROOT / "docs" / "benchmarks.json").read_text())
    assert with_table(readme, kept.comparisons) == readme, "run `python -m bench --draw`"


def test_every_line_names_figures_that_exist() -> None:
    names = {figure.name for row in ALL for figure in row.figures}
    assert {name for line in LINES for name in line.figures} <= names


def test_values_of_several_figures_stand_side_by_side() -> None:
    figures = [
        compared("small requests, 1 connection", 300.0, 200.0),
        compared("small requests, 8 connections", 12_000.0, 10_000.0),
        compared("small requests, 64 connections", 90_000.0, 100_000.0),
    ]
    assert table(figures).splitlines()[2:] == [
        "| small produce requests, 1 / 8 / 64 connections | 300 / 12,000 / 90,000 per s | 200 / 10,000 / 100,000 per s | 1.5 / 1.2 / 0.9 |"
    ]


def test_a_line_with_a_missing_figure_is_left_out() -> None:
    assert len(table([compared("small requests, 1 connection", 1.0, 1.0)]).splitlines()) == 2


def test_text_around_the_table_stays() -> None:
    written = with_table(f"above\n\n{BEGIN}\nan old table\n{END}\n\nbelow\n", [compared("compaction", 400.0, 100.0)])
    assert written == (
        f"above\n\n{BEGIN}\n| | Barnabas | Apache Kafka | ratio |\n|---|---:|---:|---:|\n"
        f"| compaction | 400 MB/s | 100 MB/s | 4 |\n{END}\n\nbelow\n"
    )


@pytest.mark.parametrize("readme", ["no marks", f"{BEGIN} begins twice {BEGIN} {END}"])
def test_a_readme_without_its_marks_is_an_error(readme: str) -> None:
    with pytest.raises(ValueError, match="values to unpack"):
        with_table(readme, [])
