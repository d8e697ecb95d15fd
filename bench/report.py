"""The report: a table on the terminal, and the same as a page of documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from bench.charts import CHARTS
from bench.kept_results import KeptResults
from bench.limits import LIMITS
from bench.measurement import Better, Figure
from bench.results import OURS, Comparison, Occasion, RowResult, Spread, Verdict, tally, three_digits
from bench.systems import BROKER_JVM_OPTIONS, SETTINGS, System

# With fewer rounds a median is hardly more than one measurement.
ROUNDS_TO_BELIEVE = 3
# Beside the page.
CHARTS_FOLDER = "figures"

_BETWEEN_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z0-9])")
_STYLES = {Verdict.MET: "green", Verdict.NOT_MET: "red", Verdict.UNKNOWN: ""}


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the benchmark, for the report."""

    date: str
    machine: Mapping[str, str]
    systems: Sequence[System]
    # By the system's key. Read before the run, because the checkout may change during it.
    versions: Mapping[str, str]
    rounds: int
    quick: bool
    missing: str | None
    results: Sequence[RowResult]

    def comparisons(self) -> list[Comparison]:
        return [comparison for result in self.results for comparison in result.comparisons()]

    @property
    def occasion(self) -> Occasion:
        return Occasion(self.date, self.versions, self.rounds)

    def earlier(self) -> Iterator[tuple[RowResult, Occasion]]:
        """The rows of earlier runs. Several runs of a day with the same versions are one."""
        for result in self.results:
            if result.earlier is not None and result.earlier.occasion != self.occasion:
                yield result, result.earlier.occasion

    def kept(self) -> KeptResults:
        earlier = {figure.name: occasion for result, occasion in self.earlier() for figure in result.row.figures}
        return KeptResults(self.occasion, self.comparisons(), earlier)


# -- the terminal ----------------------------------------------------------------------------------


def terminal_table(run: Run) -> Table:
    met, judged = tally(run.results)
    table = Table(title=_title(run), caption=f"{met} of {judged} goals met" if judged else None, title_justify="left")
    table.add_column("")
    table.add_column("unit")
    for system in run.systems:
        table.add_column(system.name, justify="right")
    for column in ("ratio", "goal", ""):
        table.add_column(column, justify="right")
    for result in run.results:
        for comparison in result.comparisons():
            table.add_row(*_cells(run, result, comparison), style=_STYLES[comparison.verdict])
    return table


def one_line(run: Run, result: RowResult) -> list[str]:
    """A line for each figure, shown as soon as its row is done."""
    if result.skipped is not None:
        return [f"{result.row.figures[0].name}: skipped, {result.skipped}"]
    lines = []
    for comparison in result.comparisons():
        medians = [f"{system.name} {_median(result, system, comparison)}" for system in run.systems]
        ratio = "" if comparison.ratio is None else f", ratio {comparison.ratio:.3f}"
        lines.append(f"{comparison.figure.name}, {comparison.figure.unit}: {', '.join(medians)}{ratio}")
    return lines


def _median(result: RowResult, system: System, comparison: Comparison) -> str:
    found = comparison.spreads.get(system.key)
    return three_digits(found.median) if found else f"failed ({result.failures.get(system.key, 'not measured')})"


# -- the page --------------------------------------------------------------------------------------


def page(run: Run, charts: Sequence[str] = ()) -> str:
    """``charts`` are the names of those that were drawn."""
    return "\n".join(
        [
            *_introduction(run),
            *_charts(charts),
            *_figures(run),
            *_troubles(run),
            *_missed_goals(run),
            *_explanations(run),
            *_circumstances(run),
            *_earlier_runs(run),
        ]
    )


def _introduction(run: Run) -> list[str]:
    met, judged = tally(run.results)
    lines = ["# Benchmarks", "", f"{_title(run)}, {run.date}.", "`make bench` writes this page; do not edit it."]
    if run.quick or run.rounds < ROUNDS_TO_BELIEVE:
        lines += ["", "**This was a short run**: it shows that the benchmark works, not how fast anything is."]
    if run.missing:
        lines += ["", f"Apache Kafka was not measured: {run.missing}."]
    if judged:
        lines += ["", f"{met} of {judged} goals met."]
    if any(run.earlier()):
        lines += ["", "Some rows are of [earlier runs](#earlier-runs)."]
    return lines


def _charts(drawn: Sequence[str]) -> list[str]:
    return [line for chart in CHARTS if chart.name in drawn for line in ("", f"![{chart.caption}]({CHARTS_FOLDER}/{chart.name}.svg)")]


def _figures(run: Run) -> list[str]:
    headers = ["", "unit", *(system.name for system in run.systems), "ratio", "goal", ""]
    alignment = ["---", "---", *("---:" for _ in range(len(headers) - 2))]
    rows = [_cells(run, result, comparison) for result in run.results for comparison in result.comparisons()]
    return ["", "## Every row", "", *(f"| {' | '.join(cells)} |" for cells in (headers, alignment, *rows))]


def _troubles(run: Run) -> list[str]:
    names = {system.key: system.name for system in run.systems}
    lines = [f"- {result.row.figures[0].name}: skipped, {result.skipped}" for result in run.results if result.skipped is not None]
    for result in run.results:
        lines += [f"- {result.row.figures[0].name}: {names[key]} failed: {why}" for key, why in result.failures.items()]
    return ["", *lines] if lines else []


def _missed_goals(run: Run) -> list[str]:
    missed = {result.row.family for result in run.results if any(each.verdict is Verdict.NOT_MET for each in result.comparisons())}
    known = [f"- **{family}**: {sentence_a_line(why)}" for family, why in LIMITS.items() if family in missed]
    return ["", "## Goals that were not met", "", *known] if known else []


def _explanations(run: Run) -> list[str]:
    abouts = {result.row.family: result.row.about for result in run.results}
    return [
        "",
        "## How to read it",
        "",
        "A cell is the median of the rounds, and in parentheses the least and the most.",
        "The ratio is Barnabas divided by Apache Kafka, by their medians.",
        "The figures turn the ratio round where lower is better, so that more is always better there.",
        "1 MB is 10^6 bytes, 1 KB is 1,000 bytes.",
        "`benchmarks.json` beside this page has the same numbers for programs.",
        "[Scale](scale.md) shows how costs grow with the number of partitions, connections and groups.",
        "",
        *(f"- **{family}**: {sentence_a_line(about)}" for family, about in abouts.items()),
    ]


def sentence_a_line(text: str) -> str:
    """Break lines so that a changed sentence is a changed line; indent, as part of a list."""
    return _BETWEEN_SENTENCES.sub("\n  ", text)


def _circumstances(run: Run) -> list[str]:
    settings = ", ".join(f"`{name}={value}`" for name, value in SETTINGS.items())
    return [
        "",
        "## How it was measured",
        "",
        "Each server is one process on loopback with data of its own.",
        "The benchmark warms each server up when it starts, and runs every row once before it counts.",
        "Rounds alternate between the servers, and the server that goes first alternates too.",
        "Both servers stay alive; the benchmark drives one at a time.",
        "",
        f"Both have the same configuration: a combined broker and controller with default settings, and {settings}.",
        "Both log from level WARN on.",
        f"Apache Kafka's JVM has the options of kafka-server-start.sh: `{' '.join(BROKER_JVM_OPTIONS)}`.",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {system.name} | {run.versions[system.key]} |" for system in run.systems),
        *(f"| {name} | {value} |" for name, value in run.machine.items()),
        f"| rounds | {run.rounds} |",
        "",
    ]


def _earlier_runs(run: Run) -> list[str]:
    """Named by the first figure of each row."""
    rows: dict[str, list[str]] = {}
    for result, occasion in run.earlier():
        when = f"{occasion.date}, Barnabas {occasion.versions[OURS]}, {occasion.rounds} rounds"
        rows.setdefault(when, []).append(result.row.figures[0].name)
    if not rows:
        return []
    lines = [
        "## Earlier runs",
        "",
        "A run of some rows (`python -m bench --update --rows PATTERN`) keeps the others.",
        "The machine may have been another one: compare ratios, which are of one run, and not speeds.",
        "",
    ]
    for when, names in sorted(rows.items(), reverse=True):
        lines += [f"{when}:", "", *(f"- {name}" for name in names), ""]
    return lines


# -- parts of both ---------------------------------------------------------------------------------


def _title(run: Run) -> str:
    return " and ".join(f"{system.name} {run.versions[system.key]}" for system in run.systems)


def _cells(run: Run, result: RowResult, comparison: Comparison) -> list[str]:
    figure, ratio = comparison.figure, comparison.ratio
    return [
        figure.name,
        figure.unit,
        *(spread_cell(comparison.spreads.get(system.key), skipped=result.skipped is not None) for system in run.systems),
        "" if ratio is None else f"{ratio:.3f}",
        _goal(figure),
        comparison.verdict.value,
    ]


def spread_cell(values: Spread | None, *, skipped: bool) -> str:
    if values is None:
        return "skipped" if skipped else "failed"
    if values.least == values.most:
        return three_digits(values.median)
    return f"{three_digits(values.median)} ({three_digits(values.least)}-{three_digits(values.most)})"


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    sign = ">=" if figure.better is Better.HIGHER else "<="
    ratio = None if figure.goal.ratio is None else f"{sign} {figure.goal.ratio:g}"
    own = None if figure.goal.ours is None else f"{sign} {three_digits(figure.goal.ours)}"
    return ", ".join(each for each in (ratio, own) if each is not None)
