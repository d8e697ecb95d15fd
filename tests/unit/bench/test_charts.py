"""The charts show what was measured, and are SVG that a browser can read."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from bench import charts, kept_results
from bench.__main__ import PAGE
from bench.measurement import Better, Figure, Goal
from bench.results import Comparison, RowResult, Spread
from bench.rows import ALL
from tests.unit.bench.stage import StagedRow

SVG = "{http://www.w3.org/2000/svg}"


def comparison(name: str, ours: float, theirs: float, *, better: Better = Better.HIGHER, goal: float | None = None) -> Comparison:
    figure = Figure(name, "MB/s", better, None if goal is None else Goal(goal))
    return Comparison(figure, {"barnabas": Spread(ours, ours * 0.9, ours * 1.1), "kafka": Spread(theirs, theirs * 0.8, theirs * 1.2)})


def words(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def shapes(svg: str, kind: str, ink: str) -> list[dict[str, str]]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}{kind}")
    return [each.attrib for each in found if ink in each.attrib.get("class", "").split()]


def measured_everything() -> list[Comparison]:
    """Every figure of every row that exists, with made-up numbers."""
    return [comparison(figure.name, 100.0, 50.0, better=figure.better) for row in ALL for figure in row.figures]


def test_every_chart_is_drawn_from_the_rows_that_exist() -> None:
    assert list(charts.draw(measured_everything())) == [chart.name for chart in charts.CHARTS]


def test_nothing_is_drawn_when_nothing_was_measured() -> None:
    assert charts.draw([]) == {}
    failed = RowResult(StagedRow(), rounds={"barnabas": [(1.0, 1.0)]}, failures={"kafka": "it died"})
    assert charts.draw(failed.comparisons()) == {}


def test_the_ratio_is_turned_round_where_lower_is_better() -> None:
    higher = comparison("speed", 30.0, 10.0)
    lower = comparison("delay", 10.0, 30.0, better=Better.LOWER)
    svg = charts.draw([higher, lower])["ratios"]
    assert words(svg).count("3.00x") == 2
    first, second = shapes(svg, "circle", "ours")
    assert first["cx"] == second["cx"]


def test_the_spread_of_a_ratio_is_the_widest_that_the_rounds_allow() -> None:
    worst, best = 0.9 * 20 / (1.2 * 10), 1.1 * 20 / (0.8 * 10)
    svg = charts.draw([comparison("speed", 20.0, 10.0), comparison("edge", 10.0 * worst, 10.0), comparison("edge", 10.0 * best, 10.0)])[
        "ratios"
    ]
    (bar, *_), (_, least, most) = shapes(svg, "rect", "ours"), shapes(svg, "circle", "ours")
    assert float(bar["x"]) == pytest.approx(float(least["cx"]), abs=0.2)
    assert float(bar["x"]) + float(bar["width"]) == pytest.approx(float(most["cx"]), abs=0.2)


def test_a_row_in_which_kafka_is_better_has_kafkas_colour() -> None:
    svg = charts.draw([comparison("speed", 10.0, 20.0)])["ratios"]
    assert len(shapes(svg, "circle", "theirs")) == 1
    assert shapes(svg, "circle", "ours") == []


def test_a_goal_is_a_tick_at_its_ratio() -> None:
    svg = charts.draw([comparison("speed", 20.0, 10.0, goal=2.0), comparison("delay", 10.0, 20.0, better=Better.LOWER, goal=0.5)])["ratios"]
    places = [each["cx"] for each in shapes(svg, "circle", "ours")]
    assert [each["x1"] for each in shapes(svg, "line", "goal")] == places


def test_a_curve_joins_connections_in_their_order() -> None:
    rows = [comparison(f"small requests, {count} connections", 1000.0 * count, 900.0 * count) for count in (64, 8)]
    svg = charts.draw([*rows, comparison("small requests, 1 connection", 1000.0, 900.0)])["throughput"]
    (line,) = shapes(svg, "polyline", "ours")
    points = [tuple(map(float, point.split(","))) for point in line["points"].split()]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert {"1 connection", "8 connections", "64 connections"} <= set(words(svg))


def test_one_percentile_is_no_distribution() -> None:
    assert "latency" not in charts.draw([comparison("end-to-end latency, p99", 1.0, 2.0)])


def test_words_are_escaped() -> None:
    assert "a < b & c" in words(charts.draw([comparison("a < b & c", 2.0, 1.0)])["ratios"])


def test_a_drawing_has_colours_for_light_and_for_dark_and_asks_no_other_host() -> None:
    for svg in charts.draw(measured_everything()).values():
        assert "prefers-color-scheme: dark" in svg
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_the_committed_figures_are_those_of_the_committed_results() -> None:
    kept = kept_results.load(PAGE.with_suffix(".json").read_text())
    for name, svg in charts.draw(kept.comparisons).items():
        assert (PAGE.parent / "figures" / f"{name}.svg").read_text("utf-8") == svg, "run: python -m bench --draw"
