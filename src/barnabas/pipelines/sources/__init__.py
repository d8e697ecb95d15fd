"""Sources: where frames begin. A source is a module with the two functions of :class:`Source`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from barnabas.pipelines.kinds import Kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration
    from barnabas.pipelines.schema_changes.columns import SchemaChange


class Source(Protocol):
    """What a module may have besides: ``DECODES = True`` when it reads records, so that format, schema, key, tolerance and dead letters
    are declared for it; ``PACKAGES`` or ``packages(settings)``, the Maven packages it needs; ``topics(settings)``, those that
    must be there; ``REMEMBERS_SCHEMA = True`` and :class:`AcceptsSchema` when its columns may change under the pipeline."""

    def declare(self, fields: Fields) -> object:
        """The settings of this kind. Fields that all sources share are taken already; all that is not asked for is refused afterwards."""

    def read(self, session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
        """A streaming frame; a frame that does not stream may only be joined to one that does."""


class AcceptsSchema(Protocol):
    def accept(self, session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
        """Takes over the columns that the source has now and returns what changed. ``CannotRun`` says why it cannot be done now."""


SOURCES: Kinds[Source] = Kinds(
    "source",
    __name__,
    {"topic": "topic", "topics": "topic", "pattern": "topic", "table": "table", "jdbc": "jdbc", "files": "files", "generator": "generator"},
)
