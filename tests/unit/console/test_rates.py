from __future__ import annotations

from itertools import pairwise

from barnabas.console.core.cluster_rates import counters_of, shown_rates
from barnabas.console.core.prometheus_text import Reading, read_metrics
from barnabas.console.core.rate_history import COARSE_POINTS_MAX, FINE_IN_COARSE, FINE_POINTS_MAX, Counters, Point, Series, rates

_PAGE = """# HELP barnabas_requests_total Requests
# TYPE barnabas_requests_total counter
barnabas_requests_total{api="Produce"} 7
barnabas_requests_total{api="Fetch",note="a \\"quoted\\" }"} 5 1700000000
barnabas_request_seconds_sum{api="Produce"} 0.5
barnabas_request_seconds_count{api="Produce"} 10
barnabas_connections 3
barnabas_requests_total{api="Metadata"} NaN
barnabas_requests_total broken line
"""


def test_a_page_is_read_and_broken_lines_are_left_out() -> None:
    found = list(read_metrics(_PAGE, {"barnabas_requests_total"}))
    assert [(each.labels["api"], each.value) for each in found] == [("Produce", 7.0), ("Fetch", 5.0)]


def test_counters_are_summed_over_labels() -> None:
    names = {"barnabas_requests_total", "barnabas_request_seconds_sum", "barnabas_request_seconds_count"}
    assert counters_of(read_metrics(_PAGE, names)) == {"requests": 12.0, "produce_seconds": 0.5, "produce_count": 10.0}
    assert counters_of([Reading("barnabas_request_seconds_sum", {"api": "Metadata"}, 1.0)]) == {}


def test_rates_are_differences_of_the_same_source() -> None:
    before = Counters(100.0, {"a": {"requests": 10}, "b": {"requests": 10}})
    now = Counters(110.0, {"a": {"requests": 30}, "b": {"requests": 20}, "new": {"requests": 1_000}})
    assert rates(before, now) == {"requests": 3.0}


def test_a_node_that_was_restarted_has_no_rate_for_one_point() -> None:
    before = Counters(100.0, {"a": {"requests": 1_000}, "b": {"requests": 10}})
    assert rates(before, Counters(110.0, {"a": {"requests": 5}, "b": {"requests": 20}})) == {"requests": 1.0}


def test_a_source_that_was_away_makes_no_peak_when_it_is_back() -> None:
    away, back = Counters(110.0, {"a": {"records_in": 10}}), Counters(120.0, {"a": {"records_in": 20}, "b": {"records_in": 9_000}})
    assert rates(away, back) == {"records_in": 1.0}


def test_the_time_of_a_request_is_the_mean_of_those_between_two_points() -> None:
    assert shown_rates({"produce_seconds": 0.1, "produce_count": 20, "requests": 5}) == {"requests": 5, "produce_ms": 5.0}
    assert shown_rates({"produce_seconds": 0.0, "produce_count": 0}) == {}


def test_a_series_keeps_fine_points_of_an_hour_and_coarse_ones_of_a_day() -> None:
    series = Series()
    for number in range(20_000):
        series.add(Point(number * 10, float(number)))
    points = series.points(0)
    assert len(points) <= FINE_POINTS_MAX + COARSE_POINTS_MAX
    assert [each.time for each in points] == sorted({each.time for each in points})
    assert points[-1] == Point(199_990, 19_999.0)
    fine = series.points(points[-1].time - 3_590)
    assert len(fine) == FINE_POINTS_MAX
    assert {later.time - one.time for one, later in pairwise(fine)} == {10}
    coarse = points[0]
    assert coarse.value == sum(range(coarse.time // 10 - FINE_IN_COARSE + 1, coarse.time // 10 + 1)) / FINE_IN_COARSE
    assert points[-1].time - coarse.time >= 23 * 3600
