"""Sinks: where frames end. A sink is a module with the two functions of :class:`Sink`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from barnabas.pipelines.kinds import Kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration


class Sink(Protocol):
    """What a module may have besides: ``PACKAGES`` or ``packages(settings)``, the Maven packages it needs; ``topics(settings)``, those it
    writes to."""

    def declare(self, fields: Fields) -> object:
        """The settings of this kind. Fields that all sinks share (from, mode) are taken already."""

    def start(self, frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
        """Begin with ``context.writer(frame, declaration)``: it has the query's name, checkpoint, trigger and output mode."""


SINKS: Kinds[Sink] = Kinds("sink", __name__, {"topic": "topic", "jdbc": "jdbc", "lake": "lake", "files": "files", "console": "console"})
