"""Rows of a query: all of them once, or those of each batch of a stream.

The output of a stream depends on the query. Without aggregation each row is final, and comes once.
With aggregation, changed rows come again. If the query sorts, all rows come again, because any row
may have changed its place.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.running.sentences import sentence_of
from barnabas.pipelines.session import jvm_gone, log_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WATCH_SECONDS = 0.1

Row = tuple[Any, ...]


def batch_rows(frame: DataFrame, limit: int | None) -> Iterator[Row]:
    """One partition of the answer in memory at a time."""
    from pyspark.errors import PySparkException

    bounded = frame if limit is None else frame.limit(limit)
    try:
        # A limited answer is small, and counting to a limit by partitions would run a job for each.
        yield from bounded.toLocalIterator() if limit is None else bounded.collect()
    except PySparkException as error:
        raise RunFailed(f"The query failed: {sentence_of(error)}") from error


class StreamedAnswer:
    def __init__(
        self,
        frame: DataFrame,
        show: Callable[[Sequence[Row]], None],
        limit: int | None = None,
        stop_asked: threading.Event | None = None,
    ) -> None:
        self._frame = frame
        self._show = show
        self._left = limit
        self.stop_asked = stop_asked or threading.Event()

    def run(self) -> None:
        """Until ``stop_asked`` or the limit is reached."""
        from pyspark.errors import PySparkException

        # A query always starts from scratch: a SELECT is not resumed.
        checkpoint = tempfile.mkdtemp(prefix="barnabas-sql-")
        try:
            writer = self._frame.writeStream.outputMode(output_mode(self._frame)).option("checkpointLocation", checkpoint)
            try:
                query = writer.foreachBatch(self._take).start()
            except PySparkException as error:
                raise CannotRun(f"The query cannot continue: {sentence_of(error)}") from error
            try:
                while query.isActive and not self.stop_asked.wait(_WATCH_SECONDS):
                    pass
                wrong_end = None if query.isActive else query.exception()
                query.stop()
            except jvm_gone() as gone:
                raise RunFailed(f"Spark's process ended; {log_name()} may have the reason.") from gone
            if wrong_end is not None:
                raise RunFailed(f"The query failed: {sentence_of(wrong_end)}") from wrong_end
        finally:
            shutil.rmtree(checkpoint, ignore_errors=True)

    def _take(self, batch: DataFrame, _batch_id: int) -> None:
        if self.stop_asked.is_set():
            return
        rows: Sequence[Row] = (batch if self._left is None else batch.limit(self._left)).collect()
        if rows:
            self._show(rows)
        if self._left is not None:
            self._left -= len(rows)
            if self._left <= 0:
                self.stop_asked.set()


def output_mode(frame: DataFrame) -> str:
    java: Any = frame._jdf  # noqa: SLF001 - PySpark shows no plan
    kinds = set(_kinds(java.queryExecution().analyzed()))
    if "Aggregate" not in kinds:
        return "append"
    return "complete" if "Sort" in kinds else "update"


def _kinds(plan: Any) -> Iterator[str]:
    yield str(plan.getClass().getSimpleName())
    children = plan.children()
    for index in range(children.length()):
        yield from _kinds(children.apply(index))
