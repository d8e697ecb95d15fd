"""The display of a running mirror: a table that changes in place on a terminal, otherwise a line of
JSON for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from barnabas.pipelines.display_text import amount, shortened
from barnabas.pipelines.fitted_table import fitted_table
from barnabas.pipelines.mirror.report import MirrorReport

# The topics with the largest lag; more would not fit a screen.
TOPICS_SHOWN_MAX = 20
DEFAULT_WIDTH = 80


@contextmanager
def watching(terminal: bool, name: str) -> Iterator[Callable[[MirrorReport], None]]:
    if not terminal:
        yield lambda report: typer.echo(report.as_json())
        return
    with Live(Text(f"{name}: starting"), refresh_per_second=4) as live:
        yield lambda report: live.update(table(report, name, live.console.width))


def table(report: MirrorReport, name: str, width: int = DEFAULT_WIDTH) -> Group:
    total = f"{report.total:,} records copied, {amount(report.records_per_second)} records/s, {report.groups} groups"
    if report.left_out:
        total += f", {report.left_out:,} left out because they came from the target"
    furthest = sorted(report.lag.items(), key=lambda each: (-each[1], each[0]))
    rows = [(topic, f"{lag:,}") for topic, lag in furthest[:TOPICS_SHOWN_MAX]]
    if rest := furthest[TOPICS_SHOWN_MAX:]:
        rows.append((f"and {len(rest)} more", f"{sum(lag for _, lag in rest):,}"))
    # Not the table's caption: rich would fold that to the table's width.
    return Group(Text(shortened(name, width)), fitted_table(("Topic", "Lag\nrecords"), rows, width), Text(total))
