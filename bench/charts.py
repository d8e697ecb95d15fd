"""The charts of the benchmark's page, drawn from comparisons.

==============  ================================================================================
``ratios``      every row: times better than Apache Kafka, with the widest range of the rounds
``throughput``  small produce requests over the number of connections
``memory``      resident memory, idle and after load
``latency``     end-to-end latency over percentiles
==============  ================================================================================

A chart whose rows were not measured is not drawn. Charts find rows by their names, which the page
shows too; a test draws all charts from the existing rows, so that a renamed row does not lose its
chart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.drawing import Drawing, Ink
from bench.measurement import Better
from bench.results import OURS, THEIRS, Comparison, Spread, three_digits

INKS: Final[dict[str, Ink]] = {OURS: "ours", THEIRS: "theirs"}
NAMES: Final = {OURS: "Barnabas", THEIRS: "Apache Kafka"}
_CONNECTIONS: Final = re.compile(r"small requests, (\d+) connections?$")
_PERCENTILE: Final = re.compile(r"end-to-end latency, p([\d.]+)$")
_MEMORY: Final = re.compile(r"resident memory,? (.+)$")


@dataclass(frozen=True, slots=True)
class Chart:
    name: str
    # The text for readers who do not see the chart.
    caption: str
    draw: Callable[[Sequence[Comparison]], Drawing | None]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values to pixels, by logarithms unless ``least`` is 0.

    Ratios and latencies span orders of magnitude.
    """

    least: float
    most: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.least) / math.log(self.most / self.least) if self.least else value / self.most
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers: 1, 2, 5, 10, 20, ..., or equal steps from 0 on."""
        if self.least:
            powers = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
            return [value for power in powers for step in (1, 2, 5) if self.least <= (value := step * 10.0**power) <= self.most]
        step = 10.0 ** math.floor(math.log10(self.most))
        step = next(step / part for part in (1, 2, 5, 10) if self.most / (step / part) >= 4)
        return [step * count for count in range(int(self.most / step) + 1)]


# -- every row -------------------------------------------------------------------------------------

_LABELS: Final = 330
_ROW: Final = 21


def ratios(comparisons: Sequence[Comparison]) -> Drawing | None:
    shown = [(each, advantage) for each in comparisons if (advantage := _advantage(each)) is not None]
    if not shown:
        return None
    top, bottom = 92, 92 + _ROW * len(shown)
    drawing = Drawing(
        title="Barnabas compared with Apache Kafka",
        subtitle="Times better, by medians; the bar is the widest range that the rounds allow, the tick is the goal",
        width=860,
        height=bottom + 30,
    )
    least = min(0.5, *(advantage.least for _, advantage in shown))
    most = max(2.0, *(advantage.most for _, advantage in shown))
    x = _Scale(least, most, _LABELS + 20, drawing.width - 80)
    for power in range(math.ceil(math.log2(least)), math.floor(math.log2(most)) + 1):
        at = x(2.0**power)
        drawing.line(at, top - 8, at, bottom, "faint" if power == 0 else "grid", width=1.5 if power == 0 else 1)
        drawing.text(at, top - 16, "equal" if power == 0 else f"{2.0**power:g}x", ink="faint", anchor="middle", size=11.5)
    for index, (comparison, advantage) in enumerate(shown):
        _ratio_row(drawing, x, top + _ROW * index + _ROW / 2, comparison, advantage)
    drawing.text(_LABELS + 20, bottom + 18, "worse to the left, better to the right", ink="faint", size=11.5)
    return drawing


def _ratio_row(drawing: Drawing, x: _Scale, y: float, comparison: Comparison, advantage: Spread) -> None:
    ink: Ink = "ours" if advantage.median >= 1 else "theirs"
    drawing.text(_LABELS, y + 4, comparison.figure.name, anchor="end", size=12)
    drawing.bar(x(advantage.least), y - 4, x(advantage.most) - x(advantage.least), 8, ink, opacity=0.35)
    goal = comparison.figure.goal
    if goal is not None and goal.ratio is not None:
        wanted = goal.ratio if comparison.figure.better is Better.HIGHER else 1 / goal.ratio
        if x.least <= wanted <= x.most:
            drawing.line(x(wanted), y - 7, x(wanted), y + 7, "goal", width=2)
    drawing.dot(x(advantage.median), y, ink)
    drawing.text(drawing.width - 20, y + 4, _times(advantage.median), ink=ink, anchor="end", size=12, bold=True)


def _advantage(comparison: Comparison) -> Spread | None:
    """How many times better ours is: the ratio, turned round where lower is better."""
    ours, theirs = comparison.spreads.get(OURS), comparison.spreads.get(THEIRS)
    if ours is None or theirs is None or min(ours.least, theirs.least) <= 0:
        return None
    if comparison.figure.better is Better.LOWER:
        ours, theirs = theirs, ours
    return Spread(ours.median / theirs.median, ours.least / theirs.most, ours.most / theirs.least)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 9.995 else f"{ratio:.0f}x"


# -- curves ----------------------------------------------------------------------------------------


def throughput(comparisons: Sequence[Comparison]) -> Drawing | None:
    points = [(float(found[1]), each) for each in comparisons if (found := _CONNECTIONS.match(each.figure.name))]
    return curves(
        points,
        title="Small produce requests",
        subtitle="Requests a second, each with one record of 100 bytes, acks=all. Higher is better",
        tick=lambda connections: f"{connections:g} connection{'s' if connections > 1 else ''}",
        spread_out=math.log,
        unit="requests/s",
        from_zero=True,
    )


def latency(comparisons: Sequence[Comparison]) -> Drawing | None:
    points = [(float(found[1]), each) for each in comparisons if (found := _PERCENTILE.match(each.figure.name))]
    return curves(
        points,
        title="End-to-end latency",
        subtitle="From a producer to a consumer that waits, over percentiles. Lower is better",
        tick=lambda percentile: f"p{percentile:g}",
        # Each further nine is as far away as the one before.
        spread_out=lambda percentile: -math.log10(1 - percentile / 100),
        unit="µs",
    )


def curves(
    points: Sequence[tuple[float, Comparison]],
    *,
    title: str,
    subtitle: str,
    tick: Callable[[float], str],
    spread_out: Callable[[float], float],
    unit: str,
    from_zero: bool = False,
) -> Drawing | None:
    """One curve for each system; None if there are fewer than two points."""
    points = sorted(((value, each) for value, each in points if each.spreads), key=lambda point: point[0])
    if len(points) < 2:
        return None
    drawing = Drawing(title=title, subtitle=subtitle, width=640, height=380)
    left, right, top, bottom = 90.0, 560.0, 104.0, 330.0
    spreads = [spread for _, each in points for spread in each.spreads.values()]
    least = 0.0 if from_zero else min(each.least for each in spreads) / 1.3
    y = _Scale(least, max(each.most for each in spreads) * 1.1, bottom, top)
    first, last = spread_out(points[0][0]), spread_out(points[-1][0])
    places = {value: left + 40 + (spread_out(value) - first) / (last - first) * (right - left - 40) for value, _ in points}
    for value in y.ticks():
        drawing.line(left, y(value), right + 40, y(value), "grid")
        drawing.text(left - 8, y(value) + 4, f"{value:,g}" if value < 1 else f"{value:,.0f}", ink="faint", anchor="end", size=11.5)
    drawing.text(left - 8, top - 14, unit, ink="faint", anchor="end", size=11.5)
    for value, at in places.items():
        drawing.text(at, bottom + 22, tick(value), ink="faint", anchor="middle", size=11.5)
    for nudge, system in ((-3, OURS), (3, THEIRS)):
        curve = [(places[value] + nudge, each.spreads[system]) for value, each in points if system in each.spreads]
        if len(curve) > 1:
            drawing.path([(at, y(spread.median)) for at, spread in curve], INKS[system])
        for at, spread in curve:
            drawing.line(at, y(spread.least), at, y(spread.most), INKS[system], width=5, opacity=0.35)
            drawing.dot(at, y(spread.median), INKS[system])
    _legend(drawing, y=80)
    return drawing


# -- bars ------------------------------------------------------------------------------------------


def memory(comparisons: Sequence[Comparison]) -> Drawing | None:
    rows = [(found[1], each) for each in comparisons if each.spreads and (found := _MEMORY.match(each.figure.name))]
    if not rows:
        return None
    drawing = Drawing(
        title="Resident memory",
        subtitle="Megabytes of the server's process. Lower is better",
        width=640,
        height=104 + 86 * len(rows),
    )
    most = max(spread.most for _, each in rows for spread in each.spreads.values())
    left, length = 130, 420
    for index, (label, comparison) in enumerate(rows):
        top = 104 + 86 * index
        drawing.text(left - 14, top + 32, label, anchor="end")
        for place, system in enumerate((OURS, THEIRS)):
            if (spread := comparison.spreads.get(system)) is not None:
                bar = max(spread.median / most * length, 2)
                drawing.bar(left, top + 28 * place, bar, 22, INKS[system])
                drawing.text(left + bar + 8, top + 28 * place + 16, f"{three_digits(spread.median)} MB")
    _legend(drawing, y=80)
    return drawing


def _legend(drawing: Drawing, *, y: float) -> None:
    for x, system in ((drawing.width - 250, OURS), (drawing.width - 140, THEIRS)):
        drawing.bar(x, y - 10, 12, 12, INKS[system])
        drawing.text(x + 18, y, NAMES[system])


CHARTS: Final = (
    Chart("ratios", "How many times better than Apache Kafka each row is, with its spread", ratios),
    Chart("throughput", "Small produce requests a second over 1, 8 and 64 connections", throughput),
    Chart("latency", "End-to-end latency over percentiles", latency),
    Chart("memory", "Resident memory, idle and after load", memory),
)


def draw(comparisons: Sequence[Comparison]) -> dict[str, str]:
    """SVG by the name of the chart, in the order in which the page shows them."""
    drawn = {chart.name: chart.draw(comparisons) for chart in CHARTS}
    return {name: drawing.svg() for name, drawing in drawn.items() if drawing is not None}
