"""The definition of a row of the scale page: one kind of thing, in several numbers.

A figure is a cost of the server, mostly processor time, because that can be compared on a busy
machine. Where the cost of one thing is what counts, the figure also names the unit of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bench.systems import System

_PER: Final = {
    ("s", "ms"): 1e3,
    ("s", "us"): 1e6,
    ("ms", "us"): 1e3,
    ("MB", "KB"): 1e3,
    ("MB", "bytes"): 1e6,
    ("% of a core", "us/s"): 1e4,
}


@dataclass(frozen=True, slots=True)
class ScaleFigure:
    name: str
    unit: str
    # The unit of the cost of one thing; None where the cost does not depend on their number.
    each: str | None = None

    @property
    def kind(self) -> str:
        return "Memory" if self.unit == "MB" else "CPU"

    def of_each(self, value: float, size: int) -> float:
        assert self.each is not None
        return value * _PER[self.unit, self.each] / size


@dataclass(frozen=True, slots=True)
class ScaleRow:
    name: str
    counted: str
    about: str
    # By the key of the system.
    sizes: Mapping[str, tuple[int, ...]]
    figures: tuple[ScaleFigure, ...]
    # One value for each figure.
    measure: Callable[[System, int], tuple[float, ...]]
