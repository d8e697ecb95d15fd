"""Tables of a database, upserted: ``db: {from: large, jdbc: {url: ..., table: alerts, keys:
[account]}}``.

Spark's own writer writes a batch, from all executors, into a staging table. One transaction then
applies it: rows replace existing rows with the same key, other rows are inserted, those that meet
``delete`` are deleted, and the batch's number is recorded in ``barnabas_batches``. So readers see
whole batches, and a batch that runs again changes nothing: exactly once, also for tables without
``keys``, to which rows are only added. Upserting from each executor's task would be simpler but
show half batches.

A missing table is created, with the columns of the rows and a unique index on the keys. An existing
one needs such an index or a primary key. The sink needs the right to create tables. When the
database is down, the batch is retried for ``retry`` (a minute).
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.jdbc_database import JdbcConnection, JdbcDatabase, declare_database, is_unavailable
from barnabas.pipelines.kept_text import KeptText
from barnabas.pipelines.sinks import Check
from barnabas.pipelines.sinks.changed_rows import DELETED, ChangeSettings, change_checks, changed_rows, declare_changes
from barnabas.pipelines.sinks.jdbc_statements import JdbcStatements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration

DEFAULT_RETRY_MS = 60_000
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class JdbcSinkSettings:
    database: JdbcDatabase
    table: str
    changes: ChangeSettings
    retry_ms: int


def declare(fields: Fields) -> JdbcSinkSettings:
    own = fields.nested("jdbc")
    retry_ms = own.duration_ms("retry", default=DEFAULT_RETRY_MS)
    settings = JdbcSinkSettings(declare_database(own), own.text("table"), declare_changes(own, "keys"), retry_ms)
    own.end()
    return settings


def packages(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, JdbcSinkSettings)
    return (settings.database.dialect.package,)


def checks(frame: DataFrame, declaration: SinkDeclaration) -> Iterable[Check]:
    settings = declaration.settings
    assert isinstance(settings, JdbcSinkSettings)
    yield from change_checks(frame, settings.changes, "jdbc", "keys")


def start(frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
    settings = declaration.settings
    assert isinstance(settings, JdbcSinkSettings)
    table = UpsertedTable(settings, context.query_name(declaration.name), context.checkpoint_of(declaration.name))
    return context.writer(frame, declaration.name, declaration.mode).foreachBatch(table.write).start()


class UpsertedTable:
    def __init__(self, settings: JdbcSinkSettings, query: str, checkpoint: str) -> None:
        self._settings = settings
        self._checkpoint = checkpoint
        # Two pipelines may write to one table at the same time.
        self._staging = f"barnabas_staging_{zlib.crc32(query.encode()):08x}"

    def write(self, batch: DataFrame, number: int) -> None:
        deadline = time.monotonic() + self._settings.retry_ms / 1000
        rows = _storable(changed_rows(batch, self._settings.changes), self._settings.database).persist()
        try:
            if rows.isEmpty():
                return
            while True:
                try:
                    self._write_once(rows, number)
                    return
                except Exception as error:
                    if not is_unavailable(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(_PAUSE_SECONDS)
        finally:
            rows.unpersist()

    def _write_once(self, rows: DataFrame, number: int) -> None:
        settings, session = self._settings, rows.sparkSession
        columns = [name for name in rows.columns if name != DELETED]
        statements = JdbcStatements(settings.database, settings.table, self._staging, columns, settings.changes.keys)
        query = self._query_id(rows)
        with settings.database.connection(session) as connection:
            connection.execute(statements.create_batches())
            done = connection.value(statements.batch(), query)
            if done is not None and done >= number:
                return
            self._ensure_table(connection, statements, rows)
            connection.execute(statements.drop_staging())
            connection.execute(statements.create_staging())
            # SQLite allows one writer at a time, so more tasks would only wait for each other.
            staged = rows.coalesce(1) if settings.database.is_sqlite else rows
            staged.write.format("jdbc").mode("append").options(**settings.database.spark_options(), dbtable=self._staging).save()
            with connection.transaction():
                connection.execute(statements.take_over())
                if settings.changes.delete is not None:
                    connection.execute(statements.delete())
                connection.execute(statements.forget_batch(), query)
                connection.execute(statements.note_batch(), query, number)
            connection.execute(statements.drop_staging())

    def _ensure_table(self, connection: JdbcConnection, statements: JdbcStatements, rows: DataFrame) -> None:
        settings = self._settings
        if _exists(connection, statements):
            return
        writer = rows.drop(DELETED).limit(0).write.format("jdbc").mode("append")
        # MariaDB cannot index a text of unlimited length.
        narrow = [
            field.name for field in rows.schema.fields if field.name in settings.changes.keys and field.dataType.simpleString() == "string"
        ]
        if narrow:
            writer = writer.option("createTableColumnTypes", ", ".join(f"`{name}` VARCHAR(255)" for name in narrow))
        writer.options(**settings.database.spark_options(), dbtable=settings.database.dialect.name(settings.table)).save()
        if settings.changes.keys:
            connection.execute(statements.create_index())

    def _query_id(self, rows: DataFrame) -> str:
        """Spark's id of the checkpoint: a new checkpoint's batches start at zero, and must not be
        confused with an old one's."""
        text = KeptText(rows.sparkSession, f"{self._checkpoint}/metadata").read()
        if text is None:
            raise CannotRun(f"The checkpoint {self._checkpoint} is gone.")
        return str(json.loads(text)["id"])


def _exists(connection: JdbcConnection, statements: JdbcStatements) -> bool:
    try:
        connection.value(statements.probe())
    except Exception as error:
        if is_unavailable(error):
            raise
        return False
    return True


def _storable(rows: DataFrame, database: JdbcDatabase) -> DataFrame:
    """SQLite keeps times as texts that its own functions understand; its driver would store
    numbers. Structures are stored as text in every database."""
    from pyspark.sql import functions as F

    columns = []
    for field in rows.schema.fields:
        kind, column = field.dataType.simpleString(), F.col(f"`{field.name}`")
        if kind.startswith(("struct", "map", "array")):
            column = F.to_json(column)
        elif database.is_sqlite and kind in ("timestamp", "timestamp_ntz"):
            column = F.date_format(column, "yyyy-MM-dd HH:mm:ss.SSSSSS")
        elif database.is_sqlite and (kind == "date" or kind.startswith("decimal")):
            column = column.cast("string")
        columns.append(column.alias(field.name))
    return rows.select(*columns)
