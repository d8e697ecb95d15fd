from __future__ import annotations

import random
from typing import Any

from barnabas.console.core.chart import BARS_MAX, HEIGHT, LEFT, SERIES_MAX, WIDTH, chart_of

COUNTS = [("status", "string"), ("n", "bigint")]


def test_names_have_bars_from_zero() -> None:
    chart = chart_of(COUNTS, [["open", 5], ["paid", 10]])
    assert chart is not None
    (series,) = chart.series
    open_bar, paid = series.bars
    assert (chart.title, series.name, paid.words) == ("n by status", "n", "paid: 10")
    assert paid.height == 2 * open_bar.height
    assert open_bar.y + open_bar.height == chart.zero
    assert [each.words for each in chart.across] == ["open", "paid"]


def test_times_and_numbers_have_lines_in_their_order() -> None:
    rows: list[list[Any]] = [["2026-01-01T00:00:02Z", 3.0], ["2026-01-01T00:00:00Z", 1.0], ["2026-01-01T00:00:01Z", None], ["no time", 1.0]]
    chart = chart_of([("at", "timestamp"), ("amount", "double")], rows)
    assert chart is not None
    places = [tuple(map(float, each.split(","))) for each in chart.series[0].points.split()]
    assert [x for x, _ in places] == [LEFT, WIDTH]


def test_an_answer_without_numbers_or_with_one_row_has_no_chart() -> None:
    assert chart_of([("a", "string"), ("b", "string")], [["x", "y"], ["x", "y"]]) is None
    assert chart_of(COUNTS, [["open", 5]]) is None
    assert chart_of([("n", "bigint")], [[1], [2]]) is None
    assert chart_of([], []) is None


def test_everything_stays_inside_of_the_picture() -> None:
    chance = random.Random(3)
    values: list[Any] = [None, True, 0, -7, 1e300, -1e300, 10**400, "text", [1], 3.5, float("inf")]
    for _ in range(300):
        rows = [[chance.choice(values) for _ in range(9)] for _ in range(chance.randrange(90))]
        kind = chance.choice(["string", "bigint", "timestamp"])
        chart = chart_of([("axis", kind), *((f"n{number}", "double") for number in range(8))], rows)
        if chart is None:
            continue
        assert len(chart.series) <= SERIES_MAX
        for series in chart.series:
            assert len(series.bars) <= BARS_MAX
            for bar in series.bars:
                assert LEFT <= bar.x <= WIDTH
                assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT


def test_a_narrow_chart_ends_at_its_width() -> None:
    chart = chart_of([("time", "timestamp"), ("lag", "double")], [(f"2026-01-01T00:00:0{each}", each) for each in range(3)], width=400)
    assert chart is not None
    assert (chart.width, chart.series[0].points.split()[-1]) == (400, "400.0,10.0")
