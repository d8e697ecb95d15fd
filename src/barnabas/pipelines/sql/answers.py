"""Rows of a query: all of them once, or those of each batch of a stream.

The output of a stream depends on the query. Without aggregation each row is final, and comes once.
With aggregation, changed rows come again. If the query sorts, all rows come again, because any row
may have changed its place.
"""

from __future__ import annotations

import datetime
import itertools
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
    from pyspark.sql.types import StructType

_WATCH_SECONDS = 0.1

_ROWS_AT_ONCE = 1000

Row = tuple[Any, ...]
Run = Callable[[Callable[[], Any]], Any]


def batch_rows(frame: DataFrame, limit: int | None, run: Run) -> Iterator[Row]:
    """One partition of the answer in memory at a time. ``run`` calls Spark."""
    from pyspark.errors import PySparkException

    bounded = frame if limit is None else frame.limit(limit)
    plain = plain_row(frame.schema)
    try:
        if limit is not None:
            # A limited answer is small, and counting to a limit by partitions would run a job for
            # each.
            yield from map(plain, run(bounded.collect))
            return
        rows = run(bounded.toLocalIterator)
        while piece := run(lambda: list(itertools.islice(rows, _ROWS_AT_ONCE))):
            yield from map(plain, piece)
    except PySparkException as error:
        raise RunFailed(f"The query failed: {sentence_of(error)}") from error


def plain_row(schema: StructType) -> Callable[[Any], Row]:
    """Converts rows of PySpark: structs become dicts, and times are in UTC. PySpark has them in the
    local time of this process."""
    converters = [_converter(each.dataType) for each in schema.fields]
    return lambda row: tuple(convert(each) for convert, each in zip(converters, row, strict=True))


def _converter(kind: Any) -> Callable[[Any], Any]:
    from pyspark.sql import types

    match kind:
        case types.TimestampType():
            return lambda at: None if at is None else at.astimezone(datetime.UTC).replace(tzinfo=None)
        case types.BinaryType():
            return lambda value: None if value is None else bytes(value)
        case types.ArrayType():
            element = _converter(kind.elementType)
            return lambda array: None if array is None else [element(each) for each in array]
        case types.MapType():
            key, value = _converter(kind.keyType), _converter(kind.valueType)
            return lambda found: None if found is None else {key(one): value(other) for one, other in found.items()}
        case types.StructType():
            fields = [(each.name, _converter(each.dataType)) for each in kind.fields]
            return lambda row: None if row is None else {name: convert(each) for (name, convert), each in zip(fields, row, strict=True)}
        case _:
            return lambda value: value


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
        self._plain = plain_row(frame.schema)
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
        found = (batch if self._left is None else batch.limit(self._left)).collect()
        rows = [self._plain(each) for each in found]
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
