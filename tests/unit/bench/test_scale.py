"""The scale page keeps the results of earlier runs, and shows the cost of each at every size."""

from __future__ import annotations

import pytest

from bench.scale.cost_charts import draw
from bench.scale.kept_costs import Cost, KeptCosts, dump, load
from bench.scale.page import page
from bench.scale.rows import ALL
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import System


def _unmeasured(system: System, size: int) -> tuple[float, ...]:
    raise AssertionError("the row is staged")


ROW = ScaleRow(
    name="things",
    counted="things",
    about="Things are staged. Nothing is measured.",
    sizes={"barnabas": (1000, 5000), "kafka": (1000,)},
    figures=(ScaleFigure("created", "s", each="ms"), ScaleFigure("idle", "% of a core")),
    measure=_unmeasured,
)


def cost(system: str, size: int, *rounds: tuple[float, ...], failure: str | None = None) -> Cost:
    return Cost("things", system, size, version="1.0", date="2026-01-01", rounds=rounds, failure=failure)


KEPT = KeptCosts(
    {"processor": "abacus"},
    (
        cost("barnabas", 1000, (0.5, 1.0), (0.7, 3.0), (0.6, 2.0)),
        cost("barnabas", 5000, (3.0, 2.0)),
        cost("kafka", 1000, (2.0, 4.0)),
    ),
)


def test_the_page_shows_the_median_and_the_cost_of_each() -> None:
    lines = page([ROW], KEPT, {}).splitlines()
    assert "| things |  | created, s (ms) | idle, % of a core |" in lines
    assert "| 1,000 | Barnabas | 0.600 (0.600) | 2.00 |" in lines
    assert "| 1,000 | Apache Kafka | 2.00 (2.00) | 4.00 |" in lines
    assert "| 5,000 | Barnabas | 3.00 (0.600) | 2.00 |" in lines
    assert "Things are staged." in lines, "one sentence a line"


def test_a_size_that_a_server_cannot_do_is_on_the_page_with_its_reason() -> None:
    text = page([ROW], KEPT.updated([cost("kafka", 5000, failure="it ran out of memory")]), {})
    assert "- 5,000 things, Apache Kafka: it ran out of memory" in text
    assert "| 5,000 | Apache Kafka |" not in text


def test_a_new_result_replaces_its_own_and_keeps_the_others() -> None:
    newer = KEPT.updated([cost("barnabas", 5000, (9.0, 9.0))])
    assert [each.medians() for each in newer.of("things")] == [(0.6, 2.0), (2.0, 4.0), (9.0, 9.0)]


def test_results_survive_being_written_and_read() -> None:
    kept = KEPT.updated([cost("kafka", 5000, failure="it died")])
    assert load(dump(kept)) == kept


def test_a_figure_with_a_cost_of_each_has_a_chart() -> None:
    (chart,) = draw(ROW, KEPT)
    assert chart.name == "scale-things-created"
    assert "for each, over the number of things" in chart.svg


def test_a_row_measured_at_one_size_has_no_chart() -> None:
    assert draw(ROW, KeptCosts({}, (cost("barnabas", 1000, (0.5, 1.0)),))) == []


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_every_row_can_be_drawn_at_its_sizes(row: ScaleRow) -> None:
    costs = [
        Cost(row.name, system, size, "1.0", "2026-01-01", (tuple(float(size) for _ in row.figures),))
        for system, sizes in row.sizes.items()
        for size in sizes
    ]
    charts = draw(row, KeptCosts({}, tuple(costs)))
    assert len(charts) == sum(figure.each is not None for figure in row.figures)
    assert f"## {row.name.capitalize()}" in page([row], KeptCosts({}, tuple(costs)), {row.name: charts})


def test_names_of_rows_are_unique() -> None:
    assert len({row.name for row in ALL}) == len(ALL)
