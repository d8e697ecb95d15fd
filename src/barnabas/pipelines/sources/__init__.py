"""Sources: the beginnings of frames. A source is a module with the two functions of
:class:`Source`.

Read this module first, then the kinds: :mod:`~.topic`; :mod:`~.table` (a compacted topic);
:mod:`~.files`, with :mod:`~.parquet_columns` and :mod:`~.unread_files`; :mod:`~.jdbc`, with
:mod:`~.jdbc_query` (the SQL) and :mod:`~.landing` (polled rows as files); :mod:`~.generator`.
:mod:`~.query_checkpoint` and :mod:`~.finished_files` read Spark's own record of finished batches.

Invariants: declaring needs no Spark; a batch that runs again gets the same rows, except from a
table in SQL; a changed column is found before a row with it is written.

Not here: decoding of records (:mod:`barnabas.pipelines.formats`) and the rules for changed columns
(:mod:`barnabas.pipelines.schema_changes`).
"""

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
    """A module may also have ``DECODES = True`` when it reads records, so that format, schema, key,
    tolerance and dead letters are declared for it; ``PACKAGES`` or ``packages(settings)``, the
    Maven packages it needs; ``topics(settings)``, the topics that must exist; ``REMEMBERS_SCHEMA =
    True`` and :class:`AcceptsSchema` when its columns may change while the pipeline runs."""

    def declare(self, fields: Fields) -> object:
        """The settings of this kind. The fields that all sources share have been read already;
        fields that are not read are refused afterwards."""

    def read(self, session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
        """A streaming frame; a frame that does not stream may only be joined to one that does."""


class AcceptsSchema(Protocol):
    def accept(self, session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
        """Accepts the current columns of the source and returns the changes. ``CannotRun`` gives
        the reason when that is impossible now."""


SOURCES: Kinds[Source] = Kinds(
    "source",
    __name__,
    {"topic": "topic", "topics": "topic", "pattern": "topic", "table": "table", "jdbc": "jdbc", "files": "files", "generator": "generator"},
)
