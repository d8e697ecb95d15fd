"""The table of the README: a choice of the page's rows, written whenever the page is.

It stands between two marks. Everything else in the README is written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.results import OURS, THEIRS, Comparison, three_digits

BEGIN = "<!-- written by `make bench`: begin -->"
END = "<!-- written by `make bench`: end -->"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; the values of several figures stand side by side in it."""

    label: str
    figures: tuple[str, ...]
    # Follows the values. "MB/s" and "s" are the page's own, "per s" is shorter than its words.
    unit: str
    # A value of the page divided by this is one of the table.
    divisor: float = 1.0


LINES: tuple[Line, ...] = (
    Line("librdkafka, produce 1 KB values to three nodes, acks=all", ("three nodes, acks=all, 1 KB, 6 partitions",), "MB/s"),
    Line("librdkafka, produce 1 KB values, one partition", ("librdkafka produce, 1 KB, 1 partition",), "MB/s"),
    Line("librdkafka, consume 1 KB values, one partition", ("librdkafka consume, 1 KB, 1 partition",), "MB/s"),
    Line("Java, transactions", ("Java transactions",), "per s"),
    Line(
        "small produce requests, 1 / 8 / 64 connections",
        tuple(f"small requests, {count} connection{'s' if count > 1 else ''}" for count in (1, 8, 64)),
        "per s",
    ),
    Line("offset commits, 16 committers", ("offset commits, 16 committers",), "per s"),
    Line("end-to-end latency, p99", ("end-to-end latency, p99",), "ms", divisor=1000.0),
    Line("compaction", ("compaction",), "MB/s"),
    Line("leader killed, until producing goes on", ("leader killed, until producing goes on",), "s"),
    Line("server CPU for a gigabyte produced and consumed", ("server CPU, 1 GB produced and consumed",), "s"),
    Line("resident memory after load", ("resident memory after load",), "MB"),
    Line("start to first acknowledged record", ("start to first acknowledged record",), "s"),
)


def with_table(readme: str, comparisons: Sequence[Comparison]) -> str:
    """``readme`` with the table of these results between its marks."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(comparisons)}\n{END}{after}"


def table(comparisons: Sequence[Comparison]) -> str:
    """A line of which a figure was not measured on both systems is left out."""
    by_name = {each.figure.name: each for each in comparisons}
    lines = ["| | Barnabas | Apache Kafka | ratio |", "|---|---:|---:|---:|"]
    return "\n".join([*lines, *(_line(line, by_name) for line in LINES if _is_measured(line, by_name))])


def _is_measured(line: Line, by_name: Mapping[str, Comparison]) -> bool:
    return all(name in by_name and by_name[name].ratio is not None for name in line.figures)


def _line(line: Line, by_name: Mapping[str, Comparison]) -> str:
    found = [by_name[name] for name in line.figures]
    values = (" / ".join(three_digits(each.spreads[system].median / line.divisor) for each in found) for system in (OURS, THEIRS))
    ratios = " / ".join(f"{each.ratio:.2g}" for each in found)
    return f"| {line.label} | {' | '.join(f'{value} {line.unit}' for value in values)} | {ratios} |"
