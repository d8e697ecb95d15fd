"""Medians, ratios and goals, from the measured values. Only arithmetic."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from bench.measurement import Better, Figure, Row

OURS = "barnabas"
THEIRS = "kafka"


class Verdict(Enum):
    MET = "met"
    NOT_MET = "not met"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Spread:
    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Occasion:
    """The run in which a row was measured."""

    date: str
    versions: Mapping[str, str]
    rounds: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """The spreads that an earlier run has kept: of each figure of a row, by system."""

    occasion: Occasion
    spreads: Sequence[Mapping[str, Spread]]


@dataclass(slots=True)
class RowResult:
    """The values of a row's rounds, or the spreads that an earlier run has kept.

    A system that failed once has no values: part of its rounds cannot be compared with all rounds
    of the other.
    """

    row: Row
    skipped: str | None = None
    rounds: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    earlier: Earlier | None = None

    def comparisons(self) -> list[Comparison]:
        return [Comparison(figure, self._spreads(index)) for index, figure in enumerate(self.row.figures)]

    def _spreads(self, index: int) -> Mapping[str, Spread]:
        if self.earlier is not None:
            return self.earlier.spreads[index]
        return {
            system: spread([values[index] for values in rounds])
            for system, rounds in self.rounds.items()
            if rounds and system not in self.failures
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    figure: Figure
    spreads: Mapping[str, Spread]

    @property
    def ratio(self) -> float | None:
        """Ours divided by theirs, by their medians."""
        ours, theirs = self.spreads.get(OURS), self.spreads.get(THEIRS)
        if ours is None or theirs is None or theirs.median == 0:
            return None
        return ours.median / theirs.median

    @property
    def verdict(self) -> Verdict:
        goal, ratio = self.figure.goal, self.ratio
        if goal is None or OURS not in self.spreads or (goal.ratio is not None and ratio is None):
            return Verdict.UNKNOWN
        pairs = ((ratio, goal.ratio), (self.spreads[OURS].median, goal.ours))
        reached = all(_reached(value, wanted, self.figure.better) for value, wanted in pairs if value is not None and wanted is not None)
        return Verdict.MET if reached else Verdict.NOT_MET


def _reached(value: float, goal: float, better: Better) -> bool:
    return value >= goal if better is Better.HIGHER else value <= goal


def tally(results: Iterable[RowResult]) -> tuple[int, int]:
    """The number of goals that were met, and of those that could be judged."""
    verdicts = [comparison.verdict for result in results for comparison in result.comparisons()]
    judged = [verdict for verdict in verdicts if verdict is not Verdict.UNKNOWN]
    return sum(verdict is Verdict.MET for verdict in judged), len(judged)


def three_digits(value: float) -> str:
    """Three significant digits, with separated thousands: 0.213, 4.07, 98.5, 1,234, 7,750,000."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    if abs(rounded) >= 10_000:
        return f"{rounded:,.0f}"
    return f"{value:,.{max(decimals, 0)}f}"
