"""The output of commands: tables for people, JSON for programs, progress for people who wait.

In a pipe a table has no lines and is not cut to a width, so that ``grep`` and ``awk`` work on it.
Progress goes to stderr, and only if that is a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Wider than any line of ours: rich requires a width, and in a pipe nothing may be cut or folded.
_UNBOUNDED_WIDTH = 100_000


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns of numbers are aligned to the right."""
    terminal = sys.stdout.isatty()
    rows = list(rows)
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold", no_wrap=not terminal)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    # Names and values are data: brackets in them are not markup, and numbers in them need no
    # colour.
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False, width=None if terminal else _UNBOUNDED_WIDTH)
    console.print(table)


@contextmanager
def progress(doing: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """A progress bar while the body runs. The body calls the yielded function with the amount done
    so far. ``total`` is None when the total is unknown."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()]
    # By default rich redirects stdout while a bar is shown, and the command's output would go to
    # stderr with it.
    console = Console(file=sys.stderr)
    with Progress(SpinnerColumn(), *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda done: bar.update(task, completed=done)
