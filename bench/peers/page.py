"""``docs/peers.md``: what each system does and does not do, and the figures beside each other.

There are no ratios and no goals: a server that promises less is expected to cost less.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.kept_results import KeptResults
from bench.measurement import Row
from bench.peers import apis
from bench.peers.facts import FACTS
from bench.report import ROUNDS_TO_BELIEVE, sentence_a_line, spread_cell
from bench.results import Occasion, RowResult, three_digits
from bench.systems import System

# A server with more missing APIs than this is described by their number alone.
MISSING_APIS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class PeerRun:
    date: str
    machine: Mapping[str, str]
    systems: Sequence[System]
    versions: Mapping[str, str]
    # Systems that were left out, by name, and why.
    missing: Mapping[str, str]
    # By the system's key; NATS has none.
    apis: Mapping[str, frozenset[int]]
    rounds: int
    quick: bool
    results: Sequence[RowResult]

    def kept(self) -> KeptResults:
        comparisons = [comparison for result in self.results for comparison in result.comparisons()]
        return KeptResults(Occasion(self.date, self.versions, self.rounds), comparisons)


def lines_of(run: PeerRun, result: RowResult) -> list[str]:
    """A line for each figure, shown as soon as its row is done."""
    if result.skipped is not None:
        return [f"{result.row.figures[0].name}: skipped, {result.skipped}"]
    names = {system.key: system.name for system in run.systems}
    lines = [
        f"{each.figure.name}, {each.figure.unit}: "
        + ", ".join(f"{names[key]} {three_digits(spread.median)}" for key, spread in each.spreads.items())
        for each in result.comparisons()
    ]
    return lines + [f"{names[key]} failed: {why}" for key, why in result.failures.items()]


def page(run: PeerRun) -> str:
    parts = (_introduction(run), _what_each_does(run), _figures(run), _troubles(run), _explanations(run), _circumstances(run))
    return "\n".join(line for part in parts for line in part) + "\n"


def _introduction(run: PeerRun) -> list[str]:
    lines = [
        "# Peers",
        "",
        f"Servers that you might pick instead, measured with the same clients, {run.date}.",
        "`python -m bench --with-peers` writes this page after the benchmarks, and `--only peers` writes it alone; do not edit it.",
        "[Benchmarks](benchmarks.md) compares Barnabas with Apache Kafka in more rows.",
        "",
        "The machine was shared with other work, so MB/s and latencies are rough: prefer the columns of the server's CPU.",
        "A server that keeps less, or promises less, is expected to cost less; read the first table before the others.",
    ]
    if run.quick or run.rounds < ROUNDS_TO_BELIEVE:
        lines += ["", "**This was a short run**: it shows that the benchmark works, not how fast anything is."]
    if run.missing:
        lines += ["", *(f"- {name} was not measured: {why}." for name, why in run.missing.items())]
    return lines


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool) -> list[str]:
    alignment = ["---", *(("---:" if numbers else "---") for _ in headers[1:])]
    return ["", *(f"| {' | '.join(cells)} |" for cells in (headers, alignment, *rows))]


def _what_each_does(run: PeerRun) -> list[str]:
    headers = ["", "keeps records in", "acknowledges when in", "fsync", "replicas", "APIs of Kafka"]
    rows = []
    for system in run.systems:
        facts, found = FACTS[system.key], run.apis.get(system.key)
        count = "none" if found is None else str(len(found))
        rows.append([system.name, facts.keeps, facts.acknowledges, facts.syncs, facts.replicas, count])
    lines = ["", "## What each does and does not do", *_table(headers, rows, numbers=False), ""]
    lines += ["Every one ran as a single server, with the defaults of its authors.", ""]
    for system in run.systems:
        lines.append(f"- **{system.name}**: {FACTS[system.key].sentences[0]}")
        lines += [f"  {sentence}" for sentence in (*FACTS[system.key].sentences[1:], *_missing_apis(run, system))]
    return lines


def _missing_apis(run: PeerRun, system: System) -> list[str]:
    """Compared with Apache Kafka, or with Barnabas where that was not measured."""
    wanted, found = run.apis.get("kafka", run.apis.get("barnabas")), run.apis.get(system.key)
    if wanted is None or found is None:
        return []
    names = apis.missing(wanted, found)
    if not names:
        return []
    if len(names) > MISSING_APIS_SHOWN:
        return [f"ApiVersions lacks {len(names)} of the {len(wanted)} APIs of Apache Kafka's broker."]
    return [f"ApiVersions lacks {len(names)} of the {len(wanted)} APIs of Apache Kafka's broker: {', '.join(names)}."]


def _figures(run: PeerRun) -> list[str]:
    """A table for each row: its figures are the columns, and the systems that took part the
    lines."""
    lines = ["", "## Every row", "", "A cell is the median of the rounds, and in parentheses the least and the most."]
    for result in run.results:
        comparisons = result.comparisons()
        heading, columns = heading_and_columns(result.row)
        taking_part = [system for system in run.systems if system.key in result.rounds or system.key in result.failures]
        rows = [
            [system.name, *(spread_cell(each.spreads.get(system.key), skipped=result.skipped is not None) for each in comparisons)]
            for system in taking_part
        ]
        lines += ["", f"### {heading[:1].upper()}{heading[1:]}", *_table(["", *columns], rows, numbers=True)]
    return lines


def heading_and_columns(row: Row) -> tuple[str, list[str]]:
    """What the names of the figures share, and the rest of each with its unit.

    The family is the heading where they share nothing.
    """
    names = [figure.name.split(", ") for figure in row.figures]
    shared = [parts[0] for parts in itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*names, strict=False))]
    columns = [", ".join([*parts[len(shared) :], figure.unit]) for parts, figure in zip(names, row.figures, strict=True)]
    return ", ".join(shared) or row.family, columns


def _troubles(run: PeerRun) -> list[str]:
    names = {system.key: system.name for system in run.systems}
    lines = [f"- {result.row.figures[0].name}: skipped, {result.skipped}." for result in run.results if result.skipped is not None]
    for result in run.results:
        lines += [f"- {result.row.figures[0].name}: {names[key]} failed: `{why}`" for key, why in result.failures.items()]
    return ["", "Failed or skipped:", "", *lines] if lines else []


def _explanations(run: PeerRun) -> list[str]:
    abouts = {result.row.family: result.row.about for result in run.results}
    lines = ["", "## How to read it", "", "1 MB is 10^6 bytes, 1 KB is 1,000 bytes.", "A GB counts values only.", ""]
    lines += [f"- **{family}**: {sentence_a_line(about)}" for family, about in abouts.items()]
    return [*lines, "- **server CPU**: user and system time of the server's process while the load ran."]


def _circumstances(run: PeerRun) -> list[str]:
    facts = itertools.chain(((system.name, run.versions[system.key]) for system in run.systems), run.machine.items())
    rows = [*(f"| {name} | {value} |" for name, value in facts), f"| rounds | {run.rounds} |"]
    return [
        "",
        "## How it was measured",
        "",
        "Each server is one process on loopback with data of its own, on the same disk.",
        "Every row runs once on each server before it counts, and Barnabas and Apache Kafka are warmed up as in the benchmarks.",
        "Rounds go forwards and backwards through the servers in turn; all stay alive, and the benchmark drives one at a time.",
        "The versions are pinned, and the programs of the peers are built from the registries of Go and Rust.",
        "`peers.json` beside this page has the same numbers for programs.",
        "",
        "| | |",
        "| --- | --- |",
        *rows,
    ]
