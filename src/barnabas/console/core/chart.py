"""A chart of the rows of an answer: bars for names, lines for numbers and times. Pure.

The first column is the axis, and every column of numbers behind it a series. Places are in the
units of the picture, which has the size :data:`WIDTH` and :data:`HEIGHT`, or is narrower where
several stand side by side: letters shrink with a picture that is wider than its place. A template
draws it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

WIDTH: Final = 800
HEIGHT: Final = 240
LEFT: Final = 70
BOTTOM: Final = 30
TOP: Final = 10
# More bars are narrower than a reader can tell apart; lines take more points.
BARS_MAX: Final = 60
POINTS_MAX: Final = 1_000
SERIES_MAX: Final = 6
_LABEL_CHARACTERS_MAX: Final = 14
_NUMBERS: Final = ("bigint", "int", "smallint", "tinyint", "double", "float", "decimal")
_TIMES: Final = ("timestamp", "date")


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    number: int
    """Its colour, from 1."""
    bars: list[Bar]
    points: str
    """Of a line, as SVG has them."""


@dataclass(frozen=True, slots=True)
class Mark:
    place: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    series: list[Series]
    across: list[Mark]
    upwards: list[Mark]
    zero: float
    """Where the line of zero is, from the top."""
    width: int
    height: int


def chart_of(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]], *, width: int = WIDTH) -> Chart | None:
    """``columns`` are names and types. None if there is nothing to draw."""
    if len(columns) < 2 or len(rows) < 2:
        return None
    numeric = [index for index in range(1, len(columns)) if columns[index][1].startswith(_NUMBERS)][:SERIES_MAX]
    if not numeric:
        return None
    is_line = columns[0][1].startswith((*_NUMBERS, *_TIMES)) and len(rows) > 2
    shown = list(rows[: POINTS_MAX if is_line else BARS_MAX])
    values = {index: [_number(row[index]) for row in shown] for index in numeric}
    low, high = _range([each for one in values.values() for each in one if each is not None])
    height = HEIGHT - BOTTOM - TOP

    def up(value: float) -> float:
        return round(TOP + height * (high - value) / (high - low), 1)

    title = f"{', '.join(columns[index][0] for index in numeric)} by {columns[0][0]}"
    upwards = [Mark(up(each), _short_number(each)) for each in (low, (low + high) / 2, high)]
    if is_line:
        places = _line_places([row[0] for row in shown], width)
        series = [Series(columns[index][0], number, [], _points(places, values[index], up)) for number, index in enumerate(numeric, 1)]
        ends = [(0, places[0]), (len(shown) - 1, places[-1])]
        across = [Mark(place, _axis_label(shown[index][0])) for index, place in ends if place is not None]
        return Chart(title, series, across, upwards, up(max(low, min(0.0, high))), width, HEIGHT)
    zero = up(0.0)
    step = (width - LEFT) / len(shown)
    bar = step * 0.8 / len(numeric)
    series = [
        Series(columns[index][0], number, _bars(shown, values[index], zero, up, step, bar, number - 1, len(numeric)), "")
        for number, index in enumerate(numeric, 1)
    ]
    every = max(1, math.ceil(len(shown) / 10))
    across = [Mark(round(LEFT + step * (index + 0.5), 1), _label(row[0])) for index, row in enumerate(shown) if index % every == 0]
    return Chart(title, series, across, upwards, zero, width, HEIGHT)


def _bars(
    rows: Sequence[Sequence[Any]], values: Sequence[float | None], zero: float, up: Any, step: float, width: float, place: int, series: int
) -> list[Bar]:
    bars = []
    for index, (row, value) in enumerate(zip(rows, values, strict=True)):
        if value is None:
            continue
        x = LEFT + step * index + (step - width * series) / 2 + width * place
        top, bottom = min(up(value), zero), max(up(value), zero)
        bars.append(Bar(round(x, 1), top, round(width, 1), round(max(bottom - top, 0.5), 1), f"{_label(row[0])}: {_short_number(value)}"))
    return bars


def _points(places: Sequence[float | None], values: Sequence[float | None], up: Any) -> str:
    pairs = [(place, value) for place, value in zip(places, values, strict=True) if place is not None and value is not None]
    return " ".join(f"{place},{up(value)}" for place, value in sorted(pairs))


def _line_places(axis: Sequence[Any], width: int) -> list[float | None]:
    numbers = [_moment(each) for each in axis]
    known = [each for each in numbers if each is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    span = (high - low) or 1.0
    return [None if each is None else round(LEFT + (width - LEFT) * (each - low) / span, 1) for each in numbers]


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min([0.0, *values]), max([0.0, *values])
    return (low, high) if high > low else (low, low + 1.0)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _moment(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return _number(value)


def _label(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= _LABEL_CHARACTERS_MAX else text[: _LABEL_CHARACTERS_MAX - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _axis_label(value: Any) -> str:
    """The ends of a line have room for a whole time, to the second."""
    return value[:19].replace("T", " ") if isinstance(value, str) else _label(value)


def _short_number(value: float) -> str:
    return f"{value:,.0f}".replace(",", "\u202f") if value == int(value) and abs(value) < 1e12 else f"{value:.3g}"
