"""The arithmetic of the benchmark: medians, ratios, goals, and how numbers are written."""

from __future__ import annotations

import pytest

from bench.measurement import Better, Figure, Goal
from bench.results import Comparison, RowResult, Spread, Verdict, spread, tally, three_digits
from tests.unit.bench.stage import StagedRow


def figure(better: Better, goal: Goal | None) -> Figure:
    return Figure("speed", "MB/s", better, goal)


def compared(ours: float | None, theirs: float | None, better: Better = Better.HIGHER, goal: Goal | None = None) -> Comparison:
    values = {"barnabas": ours, "kafka": theirs}
    return Comparison(figure(better, goal), {key: spread([value]) for key, value in values.items() if value is not None})


def test_a_spread_is_the_median_between_the_least_and_the_most() -> None:
    assert spread([3.0, 1.0, 100.0]) == Spread(median=3.0, least=1.0, most=100.0)


def test_an_even_number_of_rounds_has_its_median_in_the_middle() -> None:
    assert spread([1.0, 2.0, 4.0, 8.0]).median == 3.0


def test_the_ratio_is_of_medians_and_not_of_means() -> None:
    spreads = {"barnabas": spread([10.0, 10.0, 1000.0]), "kafka": spread([5.0, 5.0, 5.0])}
    assert Comparison(figure(Better.HIGHER, None), spreads).ratio == 2.0


@pytest.mark.parametrize(("ours", "theirs"), [(1.0, None), (None, 1.0), (1.0, 0.0)])
def test_there_is_no_ratio_without_two_sides(ours: float | None, theirs: float | None) -> None:
    comparison = compared(ours, theirs, goal=Goal(1.2))
    assert comparison.ratio is None
    assert comparison.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("better", "goal", "ours", "verdict"),
    [
        (Better.HIGHER, 1.2, 120.0, Verdict.MET),
        (Better.HIGHER, 1.2, 119.0, Verdict.NOT_MET),
        (Better.LOWER, 0.15, 15.0, Verdict.MET),
        (Better.LOWER, 0.15, 16.0, Verdict.NOT_MET),
    ],
)
def test_a_goal_is_met_at_its_edge(better: Better, goal: float, ours: float, verdict: Verdict) -> None:
    assert compared(ours, 100.0, better, Goal(goal)).verdict is verdict


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"), [(3e6, 1e6, Verdict.MET), (2.9e6, 1e6, Verdict.NOT_MET), (4e6, 4e6, Verdict.NOT_MET)]
)
def test_a_goal_of_our_own_must_be_reached_as_well_as_the_ratio(ours: float, theirs: float, verdict: Verdict) -> None:
    assert compared(ours, theirs, goal=Goal(1.2, ours=3e6)).verdict is verdict


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"), [(0.6, 0.9, Verdict.MET), (0.5, None, Verdict.NOT_MET), (None, 0.9, Verdict.UNKNOWN)]
)
def test_a_goal_of_our_own_may_stand_alone(ours: float | None, theirs: float | None, verdict: Verdict) -> None:
    assert compared(ours, theirs, goal=Goal(ours=0.6)).verdict is verdict


def test_without_a_goal_there_is_nothing_to_meet() -> None:
    assert compared(1.0, 100.0).verdict is Verdict.UNKNOWN


def test_each_figure_is_compared_with_its_own_values() -> None:
    result = RowResult(StagedRow(), rounds={"barnabas": [(10.0, 1.0), (20.0, 2.0), (30.0, 9.0)], "kafka": [(10.0, 4.0)]})
    speed, delay = result.comparisons()
    assert (speed.ratio, delay.ratio) == (2.0, 0.5)


def test_a_system_that_failed_has_no_values_even_from_rounds_that_went_well() -> None:
    result = RowResult(StagedRow(), rounds={"barnabas": [(1.0, 1.0)], "kafka": [(1.0, 1.0)]}, failures={"kafka": "it died"})
    assert [set(comparison.spreads) for comparison in result.comparisons()] == [{"barnabas"}, {"barnabas"}]


def test_the_tally_counts_only_goals_that_could_be_judged() -> None:
    row = StagedRow(goal=Goal(1.2))  # of its two figures the first has the goal
    good = RowResult(row, rounds={"barnabas": [(2.0, 1.0)], "kafka": [(1.0, 1.0)]})
    bad = RowResult(row, rounds={"barnabas": [(1.0, 1.0)], "kafka": [(1.0, 1.0)]})
    assert tally([good, bad, RowResult(row, skipped="no compiler")]) == (1, 2)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (0.21349, "0.213"),
        (4.0651, "4.07"),
        (98.53, "98.5"),
        (123.4, "123"),
        (999.9, "1,000"),
        (1234.4, "1,234"),
        (7_745_668, "7,750,000"),
    ],
)
def test_numbers_are_written_with_the_digits_that_mean_something(value: float, written: str) -> None:
    assert three_digits(value) == written
