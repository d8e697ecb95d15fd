"""The output of commands: tables for people, JSON for programs, progress for people who wait.

In a pipe a table has no lines and is not cut to a width, so that ``grep`` and ``awk`` work on it;
an empty one is empty. On a terminal an empty table is a sentence. Progress goes to stderr, and only
if that is a terminal; it alone needs rich, which is loaded for it.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from barnabas.cli.terminal.escapes import printable
from barnabas.cli.terminal.table import table_lines

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_MILLISECONDS: Final = 1_000
_MINUTE_SECONDS: Final = 60
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", _MINUTE_SECONDS), ("s", 1))


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str | None = None) -> None:
    """``empty`` is the sentence for a terminal when there are no rows; a pipe gets nothing then.
    Without it the header is printed in any case."""
    terminal = sys.stdout.isatty()
    rows = list(rows)
    if not rows and empty is not None:
        if terminal:
            typer.echo(empty)
        return
    width = shutil.get_terminal_size().columns if terminal else None
    # A tab has no width of its own, so it would move the columns after it.
    shown = [[printable(cell).replace("\t", "\\t") if isinstance(cell, str) else cell for cell in row] for row in rows]
    for line in table_lines(columns, shown, width=width):
        typer.echo(line)


def duration_text(milliseconds: float) -> str:
    """In the unit that a person would choose: 0.25 s, 42 s, 3 min 5 s, 2 d 4 h."""
    seconds = milliseconds / _MILLISECONDS
    if seconds < 1:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < _MINUTE_SECONDS:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    index = next(index for index, (_, size) in enumerate(_UNITS) if whole >= size)
    (unit, size), (smaller, part) = _UNITS[index], _UNITS[index + 1]
    rest = whole % size // part
    return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")


def time_text(timestamp_ms: int) -> str:
    """In UTC, to the second. A negative timestamp stands for no time and stays a number."""
    import time

    return str(timestamp_ms) if timestamp_ms < 0 else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(timestamp_ms // _MILLISECONDS))


@contextmanager
def progress(doing: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """A progress bar while the body runs. The body calls the yielded function with the amount done
    so far. ``total`` is None when the total is unknown."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()]
    # By default rich redirects stdout while a bar is shown, and the command's output would go to
    # stderr with it.
    console = Console(file=sys.stderr)
    with Progress(SpinnerColumn(), *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda done: bar.update(task, completed=done)
