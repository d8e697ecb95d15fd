"""The scale page, written from the kept costs of all runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bench.charts import NAMES
from bench.results import three_digits
from bench.scale.cost_charts import CostChart
from bench.scale.kept_costs import Cost, KeptCosts
from bench.scale.scale_row import ScaleFigure, ScaleRow

CHARTS_FOLDER = "figures"
_BETWEEN_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z0-9])")


def page(rows: Sequence[ScaleRow], kept: KeptCosts, charts: Mapping[str, Sequence[CostChart]]) -> str:
    """``charts`` are those that were drawn, by the name of the row."""
    lines = _introduction()
    for row in rows:
        costs = kept.of(row.name)
        if costs:
            lines += _section(row, costs, charts.get(row.name, ()))
    return "\n".join([*lines, *_circumstances(kept), ""])


def _introduction() -> list[str]:
    return [
        "# Scale",
        "",
        "The cost of a server by the number of things that it keeps: partitions, connections, groups, offsets, producers.",
        "`python -m bench.scale` writes this page; do not edit it.",
        "A run of some rows (`--rows partitions`) measures those again and keeps the others.",
        "",
        "A cost is processor time, user and system, of the server and its child processes, or its resident memory.",
        "The machine runs other work at the same time, so wall-clock time would say little.",
        "Processor time still varies: the same work cost up to twice as much in another minute, and creating files up to four times.",
        "In parentheses is the cost of each: of one partition, one connection, and so on.",
        "So compare the cost of each between sizes, and take differences below a factor of two as noise.",
        "A flat line in a figure means that the cost grows in proportion to the work.",
        "[Benchmarks](benchmarks.md) compare speed at one size.",
    ]


def _section(row: ScaleRow, costs: Sequence[Cost], charts: Sequence[CostChart]) -> list[str]:
    headers = [row.counted, "", *(_header(figure) for figure in row.figures)]
    alignment = ["---:", "---", *("---:" for _ in row.figures)]
    table = [headers, alignment, *(_cells(row, cost) for cost in costs if cost.failure is None)]
    failures = [f"- {cost.size:,} {row.counted}, {NAMES[cost.system]}: {cost.failure}" for cost in costs if cost.failure is not None]
    return [
        "",
        f"## {row.name.capitalize()}",
        "",
        _BETWEEN_SENTENCES.sub("\n", " ".join(row.about.split())),
        "",
        *(f"| {' | '.join(cells)} |" for cells in table),
        *(["", *failures] if failures else []),
        *(line for chart in charts for line in ("", f"![{chart.caption}]({CHARTS_FOLDER}/{chart.name}.svg)")),
    ]


def _header(figure: ScaleFigure) -> str:
    return f"{figure.name}, {figure.unit}" + (f" ({figure.each})" if figure.each else "")


def _cells(row: ScaleRow, cost: Cost) -> list[str]:
    values = zip(row.figures, cost.medians(), strict=True)
    return [f"{cost.size:,}", NAMES[cost.system], *(_cell(figure, value, cost.size) for figure, value in values)]


def _cell(figure: ScaleFigure, value: float, size: int) -> str:
    if figure.each is None:
        return three_digits(value)
    return f"{three_digits(value)} ({three_digits(figure.of_each(value, size))})"


def _circumstances(kept: KeptCosts) -> list[str]:
    runs = sorted({(each.date, NAMES[each.system], each.version) for each in kept.costs})
    return [
        "",
        "## How it was measured",
        "",
        "Each size has a fresh server on loopback with default settings and the few that [Benchmarks](benchmarks.md) name.",
        "A number is the median of the rounds, which `scale.json` beside this page has one by one.",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {name}, {date} | {version} |" for date, name, version in runs),
        *(f"| {name} | {value} |" for name, value in kept.machine.items()),
    ]
