"""The display of a running mirror: a table that changes in place on a terminal, otherwise a line of
JSON for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from barnabas.pipelines.mirror.report import MirrorReport

# The topics with the largest lag; more would not fit a screen.
TOPICS_SHOWN_MAX = 20


@contextmanager
def watching(terminal: bool, name: str) -> Iterator[Callable[[MirrorReport], None]]:
    if not terminal:
        yield lambda report: typer.echo(report.as_json())
        return
    with Live(f"{name}: starting", refresh_per_second=4) as live:
        yield lambda report: live.update(table(report, name))


def table(report: MirrorReport, name: str) -> Group:
    total = f"{report.total:,} records copied, {report.records_per_second:,.0f}/s, {report.groups} groups"
    if report.left_out:
        total += f", {report.left_out:,} left out because they came from the target"
    shown = Table(title=name, title_justify="left")
    shown.add_column("Topic")
    shown.add_column("Lag", justify="right")
    furthest = sorted(report.lag.items(), key=lambda each: (-each[1], each[0]))
    for topic, lag in furthest[:TOPICS_SHOWN_MAX]:
        shown.add_row(topic, f"{lag:,}")
    if len(furthest) > TOPICS_SHOWN_MAX:
        shown.add_row(f"and {len(furthest) - TOPICS_SHOWN_MAX} more", f"{sum(lag for _, lag in furthest[TOPICS_SHOWN_MAX:]):,}")
    # Not the table's caption: rich would fold that to the table's width.
    return Group(shown, Text(total))
