"""The figures of the scale page: the cost of one thing, over how many there are.

A flat line means that the cost grows in proportion to the work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bench.charts import curves
from bench.measurement import Better, Figure
from bench.results import Comparison, Spread, spread
from bench.scale.kept_costs import Cost, KeptCosts
from bench.scale.scale_row import ScaleFigure, ScaleRow


@dataclass(frozen=True, slots=True)
class CostChart:
    name: str
    caption: str
    svg: str


def draw(row: ScaleRow, kept: KeptCosts) -> list[CostChart]:
    """One for each figure that has a cost of one thing, where at least two sizes were measured."""
    costs = [each for each in kept.of(row.name) if each.failure is None]
    drawn = []
    for index, figure in enumerate(row.figures):
        if figure.each is None:
            continue
        drawing = curves(
            _points(figure, index, costs),
            title=f"{row.name.capitalize()}: {figure.name}",
            subtitle=f"{figure.kind} of the server for each, over the number of {row.counted}. Lower is better",
            tick=lambda size: f"{size:,.0f}",
            spread_out=math.log,
            unit=figure.each,
            from_zero=True,
        )
        if drawing is not None:
            name = re.sub(r"[^a-z0-9]+", "-", f"scale {row.name} {figure.name}".lower())
            drawn.append(CostChart(name, f"{figure.kind} of each by the number of {row.counted}: {figure.name}", drawing.svg()))
    return drawn


def _points(figure: ScaleFigure, index: int, costs: Sequence[Cost]) -> list[tuple[float, Comparison]]:
    by_size: dict[int, dict[str, Spread]] = {}
    for cost in costs:
        each = [figure.of_each(values[index], cost.size) for values in cost.rounds]
        by_size.setdefault(cost.size, {})[cost.system] = spread(each)
    named = Figure(figure.name, figure.each or figure.unit, Better.LOWER)
    return [(float(size), Comparison(named, spreads)) for size, spreads in by_size.items()]
