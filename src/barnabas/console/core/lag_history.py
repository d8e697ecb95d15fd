"""The lag of a group over time, in a bounded number of points. Pure.

A series that is full merges each pair of neighbours into the larger one and takes half as many
points from then on, so it always reaches back to its beginning: fine for the first hours, coarser
after days.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

# Points of one series; a chart has about as many pixels.
POINTS_MAX: Final = 720
# Groups whose history is kept for one principal: about 3.5 MB with full series.
SERIES_MAX: Final = 200
_UNKNOWN: Final = -1.0


@dataclass(slots=True)
class LagSeries:
    seconds_between: float
    """The least distance of two points."""
    times: array[float] = field(default_factory=lambda: array("d"))
    records: array[float] = field(default_factory=lambda: array("d"))
    seconds: array[float] = field(default_factory=lambda: array("d"))

    def add(self, now: float, lag: int, lag_seconds: float | None) -> None:
        """Points that come sooner than the distance raise the last one instead."""
        value = _UNKNOWN if lag_seconds is None else lag_seconds
        if self.times and now - self.times[-1] < self.seconds_between:
            self.records[-1] = max(self.records[-1], float(lag))
            self.seconds[-1] = max(self.seconds[-1], value)
            return
        if len(self.times) >= POINTS_MAX:
            self._halve()
        self.times.append(now)
        self.records.append(float(lag))
        self.seconds.append(value)

    def _halve(self) -> None:
        self.seconds_between *= 2
        self.times = self.times[::2]
        for name in ("records", "seconds"):
            values = getattr(self, name)
            setattr(self, name, array("d", (max(values[at : at + 2]) for at in range(0, len(values), 2))))


@dataclass(frozen=True, slots=True)
class LagHistory:
    times: list[float]
    """Seconds since 1970."""
    records: list[int]
    seconds: list[float | None]


class LagHistories:
    """Series by group; the group that was seen longest ago makes room for a new one."""

    def __init__(self, seconds_between: float, series_max: int = SERIES_MAX) -> None:
        self._seconds_between = seconds_between
        self._series_max = series_max
        self._series: OrderedDict[str, LagSeries] = OrderedDict()

    def __len__(self) -> int:
        return len(self._series)

    @property
    def groups(self) -> list[str]:
        return list(self._series)

    def watch(self, groups: Iterable[str]) -> None:
        for each in groups:
            self._series.setdefault(each, LagSeries(self._seconds_between))
            self._series.move_to_end(each)
            if len(self._series) > self._series_max:
                self._series.popitem(last=False)

    def add(self, group: str, now: float, lag: int, lag_seconds: float | None) -> None:
        found = self._series.get(group)
        if found is not None:
            found.add(now, lag, lag_seconds)

    def forget(self, group: str) -> None:
        self._series.pop(group, None)

    def history(self, group: str) -> LagHistory:
        found = self._series.get(group) or LagSeries(self._seconds_between)
        return LagHistory(
            list(found.times), [int(each) for each in found.records], [None if each == _UNKNOWN else each for each in found.seconds]
        )
