"""The table on a terminal while pipelines run: one line per query, always with the newest numbers.

It fits a terminal of 80 columns: long names are cut in the middle, and the lag is one number. The
topics behind that number, where there are several, have lines below the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from barnabas.pipelines.display_text import amount, duration, shortened, size
from barnabas.pipelines.fitted_table import fitted_table, name_width
from barnabas.pipelines.running.progress import Progress

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

_REFRESHES_PER_SECOND = 4
_HEADINGS = ("Query", "Batch", "In\nrows/s", "Out\nrows/s", "Batch\ntime", "Lag\nrecords", "State\nrows", "State\nsize")
_STATE_COLUMNS = 2
# Topics in the line about a query's lag.
_TOPICS_SHOWN_MAX = 4
_TOPIC_WIDTH_MAX = 32


class LiveTable:
    """Called with progress; shown inside its ``with`` block, and left on the terminal after it."""

    def __init__(self, pipelines: Sequence[PipelineDeclaration], console: Console | None = None) -> None:
        self._newest: dict[str, Progress | None] = {f"{each.name}.{sink.name}": None for each in pipelines for sink in each.sinks}
        self._console = console or Console()
        self._live = Live(self._shown(), console=self._console, refresh_per_second=_REFRESHES_PER_SECOND, redirect_stderr=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.update(self._shown())
        self._live.stop()

    def __call__(self, progress: Progress) -> None:
        self._newest[f"{progress.pipeline}.{progress.query}"] = progress
        self._live.update(self._shown())

    def _shown(self) -> Group:
        return progress_table(self._newest, self._console.width)


def progress_table(newest: Mapping[str, Progress | None], width: int) -> Group:
    rows = [(name, *(("starting",) if progress is None else cells(progress))) for name, progress in newest.items()]
    headings: tuple[str, ...] = _HEADINGS
    if not any(progress.state_rows or progress.state_bytes for progress in newest.values() if progress is not None):
        # Most queries have no state, and their names need the room.
        headings, rows = headings[:-_STATE_COLUMNS], [row[: len(_HEADINGS) - _STATE_COLUMNS] for row in rows]
    room = name_width(headings, rows, width)
    lags = {name: progress.lag for name, progress in newest.items() if progress is not None}
    below = [Text(f"{shortened(name, room)} lags by {_by_topic(lag)}") for name, lag in lags.items() if len(lag) > 1]
    return Group(fitted_table(headings, rows, width), *below)


def cells(progress: Progress) -> tuple[str, ...]:
    """All columns but the first."""
    seconds = progress.batch_ms / 1000
    written = None if progress.output_rows is None or not seconds else progress.output_rows / seconds
    return (
        str(progress.batch),
        amount(progress.input_rows_per_second),
        "-" if written is None else amount(written),
        duration(progress.batch_ms),
        amount(sum(progress.lag.values())) if progress.lag else "-",
        amount(progress.state_rows) if progress.state_rows else "-",
        size(progress.state_bytes) if progress.state_bytes else "-",
    )


def _by_topic(lag: Mapping[str, int]) -> str:
    furthest = sorted(lag.items(), key=lambda each: -each[1])
    shown = [f"{shortened(topic, _TOPIC_WIDTH_MAX)} {amount(behind)}" for topic, behind in furthest[:_TOPICS_SHOWN_MAX]]
    rest = furthest[_TOPICS_SHOWN_MAX:]
    return ", ".join([*shown, f"{len(rest)} more {amount(sum(behind for _, behind in rest))}"] if rest else shown)
