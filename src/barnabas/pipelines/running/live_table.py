"""The table on a terminal while pipelines run: one line per query, always with the newest
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from barnabas.pipelines.running.progress import Progress

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

_REFRESHES_PER_SECOND = 4
_COLUMNS = ("Query", "Batch", "In rows/s", "Out rows/s", "Batch time", "Lag", "State rows", "State size")


class LiveTable:
    """Called with progress; shown inside its ``with`` block, and left on the terminal after it."""

    def __init__(self, pipelines: Sequence[PipelineDeclaration], console: Console | None = None) -> None:
        self._newest: dict[str, Progress | None] = {f"{each.name}.{sink.name}": None for each in pipelines for sink in each.sinks}
        self._live = Live(self._table(), console=console or Console(), refresh_per_second=_REFRESHES_PER_SECOND, redirect_stderr=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.update(self._table())
        self._live.stop()

    def __call__(self, progress: Progress) -> None:
        self._newest[f"{progress.pipeline}.{progress.query}"] = progress
        self._live.update(self._table())

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in _COLUMNS:
            table.add_column(column, justify="left" if column in ("Query", "Lag") else "right")
        for name, progress in self._newest.items():
            table.add_row(name, *(cells(progress) if progress is not None else ("starting",)))
        return table


def cells(progress: Progress) -> tuple[str, ...]:
    """All columns but the first."""
    seconds = progress.batch_ms / 1000
    written = None if progress.output_rows is None or not seconds else progress.output_rows / seconds
    lag = ", ".join(f"{source} {behind:,}" for source, behind in progress.lag.items())
    return (
        str(progress.batch),
        f"{progress.input_rows_per_second:,.0f}",
        "-" if written is None else f"{written:,.0f}",
        f"{progress.batch_ms:,} ms",
        lag or "-",
        f"{progress.state_rows:,}",
        size(progress.state_bytes),
    )


def size(bytes_count: int) -> str:
    value = float(bytes_count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
