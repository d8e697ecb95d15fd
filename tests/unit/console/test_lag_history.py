from __future__ import annotations

from barnabas.console.core.lag_history import POINTS_MAX, LagHistories, LagSeries


def test_points_that_come_too_soon_raise_the_last_one() -> None:
    series = LagSeries(10.0)
    series.add(0.0, 5, 1.0)
    series.add(3.0, 9, None)
    series.add(10.0, 2, None)
    assert (list(series.times), list(series.records), list(series.seconds)) == ([0.0, 10.0], [9.0, 2.0], [1.0, -1.0])


def test_a_full_series_keeps_its_beginning_and_its_peaks() -> None:
    series = LagSeries(1.0)
    for second in range(POINTS_MAX * 10):
        series.add(float(second), 1_000 if second == 77 else 1, None)
    assert len(series.times) <= POINTS_MAX
    assert series.times[0] == 0.0
    assert max(series.records) == 1_000
    assert series.times[-1] > POINTS_MAX * 9.9


def test_the_group_that_was_seen_longest_ago_makes_room() -> None:
    histories = LagHistories(1.0, series_max=2)
    histories.watch(["a", "b"])
    histories.watch(["a"])
    histories.watch(["c"])
    assert histories.groups == ["a", "c"]
    histories.add("b", 1.0, 1, None)
    histories.add("c", 1.0, 3, None)
    assert histories.history("b").times == []
    assert (histories.history("c").records, histories.history("c").seconds) == ([3], [None])
