"""Rates over the last day, in bounded memory. Pure.

A series keeps fine points for the last hour and coarse ones, each the mean of some fine ones, for
the last day::

    fine      a point every 10 seconds    360 points    the last hour
    coarse    a point every 2 minutes     720 points    the last day

Counters become rates: the difference of two readings of the same source, divided by the time
between them. A counter that became smaller belongs to a process that was restarted, so that source
has no rate for one point.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FINE_SECONDS: Final = 10
FINE_POINTS_MAX: Final = 360
FINE_IN_COARSE: Final = 12
COARSE_POINTS_MAX: Final = 720


@dataclass(frozen=True, slots=True)
class Point:
    time: int
    """Seconds since the epoch."""
    value: float


class Series:
    def __init__(self) -> None:
        self._fine: deque[Point] = deque(maxlen=FINE_POINTS_MAX)
        self._coarse: deque[Point] = deque(maxlen=COARSE_POINTS_MAX)
        self._pending: list[Point] = []

    def add(self, point: Point) -> None:
        self._fine.append(point)
        self._pending.append(point)
        if len(self._pending) == FINE_IN_COARSE:
            mean = sum(each.value for each in self._pending) / FINE_IN_COARSE
            self._coarse.append(Point(self._pending[-1].time, mean))
            self._pending = []

    def points(self, since: int) -> list[Point]:
        """The oldest first: fine where there are fine ones, coarse before them."""
        first_fine = self._fine[0].time if self._fine else since
        coarse = [each for each in self._coarse if since <= each.time < first_fine]
        return coarse + [each for each in self._fine if each.time >= since]


@dataclass(frozen=True, slots=True)
class Counters:
    """Readings of one moment, by source (a node) and name."""

    time: float
    values: Mapping[str, Mapping[str, float]]


def rates(before: Counters, now: Counters) -> dict[str, float]:
    """The sum of all sources' rates for each name."""
    seconds = now.time - before.time
    if seconds <= 0:
        return {}
    found: dict[str, float] = {}
    for source, values in now.values.items():
        old = before.values.get(source, {})
        if any(values[name] < old[name] for name in values if name in old):
            continue
        for name, value in values.items():
            if name in old:
                found[name] = found.get(name, 0.0) + (value - old[name]) / seconds
    return found
