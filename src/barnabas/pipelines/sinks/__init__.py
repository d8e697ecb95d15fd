"""Sinks: the ends of frames. A sink is a module with the two functions of :class:`Sink`.

Read this module first, then :mod:`~.topic`, :mod:`~.files`, :mod:`~.console`, :mod:`~.lake` and
:mod:`~.jdbc` (with :mod:`~.jdbc_statements`). :mod:`~.changed_rows` is shared by the last two: it
reduces a batch to one row per key.

Invariants: every sink is one query with its own checkpoint; declaring needs no Spark. Each module
states its guarantee after a failure.

Not here: transactions into topics (:mod:`barnabas.pipelines.exactly_once`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from barnabas.pipelines.kinds import Kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration


class Sink(Protocol):
    """A module may also have ``PACKAGES`` or ``packages(settings)``, the Maven packages it needs;
    ``topics(settings)``, the topics it writes to; and ``checks(frame, declaration)``
    (:class:`ChecksColumns`)."""

    def declare(self, fields: Fields) -> object:
        """The settings of this kind. The fields that all sinks share (from, mode) have been read
        already."""

    def start(self, frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
        """Starts with ``context.writer(frame, declaration)``, which has the query's name,
        checkpoint, trigger and output mode."""


Check: TypeAlias = "tuple[tuple[str, ...], Callable[[], object]]"


class ChecksColumns(Protocol):
    def checks(self, frame: DataFrame, declaration: SinkDeclaration) -> Iterable[Check]:
        """Checks of its fields against the columns, which write nothing: the path of a field, and a
        function that raises Spark's error about it."""


def selects(frame: DataFrame, expression: str, cast_to: str | None = None) -> Callable[[], object]:
    def check() -> None:
        # First as it is written, so that a position in Spark's error is one of the file.
        frame.selectExpr(expression)
        if cast_to is not None:
            frame.selectExpr(f"CAST(({expression}) AS {cast_to})")

    return check


def has_columns(frame: DataFrame, names: Iterable[str]) -> Callable[[], object]:
    return lambda: frame.select(*(f"`{name}`" for name in names))


SINKS: Kinds[Sink] = Kinds("sink", __name__, {"topic": "topic", "jdbc": "jdbc", "lake": "lake", "files": "files", "console": "console"})
