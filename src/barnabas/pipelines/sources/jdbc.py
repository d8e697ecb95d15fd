"""Tables of a database, polled.

    orders: {jdbc: {url: "jdbc:postgresql://db/shop", table: orders, mode: incrementing,
                    incrementing: id, poll: 5 seconds}}

``mode`` (see :mod:`barnabas.pipelines.sources.jdbc_query`) decides how new rows are found. Spark
reads databases but does not stream them, so polled rows land in files beside the checkpoint and are
streamed from there (:mod:`barnabas.pipelines.sources.landing`): the position of the poll is known
exactly, and a batch that runs again has the same rows.

The poll is a query of its own beside the sinks', with its own line in the progress. A database that
is down is tried again at every poll; one that returns an error (the table is gone) ends the
pipeline. With ``available_now`` the available rows are read before the sinks start, and then
nothing more.

Every poll checks the table's columns before it reads rows, and once more afterwards: rows that were
read while the columns changed are read again. When a remembered column is missing or has another
type, no more rows land; once every sink has written the rows that landed before, the pipeline
stops, or accepts the new columns (``schema_changes: accept``) and starts again. So no landed row is
ever read with other columns than it was polled with. A new column lands with the rows, and sinks
see it when it is accepted.

SQLite has types for values, not for columns: declare ``schema`` where the guess from the columns'
declared types is wrong. Its times are texts or numbers; as TIMESTAMP they are read as UTC, numbers
as milliseconds since 1970.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun, SchemaTakenOver
from barnabas.pipelines.jdbc_database import JdbcDatabase, declare_database, is_unavailable
from barnabas.pipelines.schema_changes.columns import SchemaChange, breaking, describe
from barnabas.pipelines.schema_changes.remembered import RememberedSchema
from barnabas.pipelines.sources.jdbc_query import AT, MODES, NUMBER, ROW, JdbcQuery, Position
from barnabas.pipelines.sources.landing import Landing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

REMEMBERS_SCHEMA = True
DEFAULT_POLL_MS = 5_000
# How often a run that has met a change checks whether the sinks have written the rows that landed
# before it.
_DRAIN_POLL_MS = 500
# The rows of one poll: a file of some megabytes. More rows wait for the next poll, which follows at
# once.
DEFAULT_ROWS_MAX = 100_000
# How long a database may be down before a run with available_now gives up.
AWAY_SECONDS_MAX = 60.0
_AWAY_PAUSE_SECONDS = 1.0

_log = logging.getLogger("barnabas.pipelines")


@dataclass(frozen=True, slots=True)
class JdbcSettings:
    query: JdbcQuery
    schema: str | None
    poll_ms: int
    rows_max: int
    # How long rows that every sink has written are kept for sinks that are added later.
    keep_ms: int

    @property
    def database(self) -> JdbcDatabase:
        return self.query.database


def declare(fields: Fields) -> JdbcSettings:
    own = fields.nested("jdbc")
    database = declare_database(own)
    table = own.text("table")
    mode = own.choice("mode", MODES, default="bulk")
    number = own.text("incrementing") if mode != "bulk" else None
    at = own.text("timestamp") if mode == "timestamp+incrementing" else None
    delay_ms = own.duration_ms("delay", default=0) if at is not None else 0
    settings = JdbcSettings(
        query=JdbcQuery(database, table, mode, number, at, delay_ms),
        schema=fields.optional_text("schema"),
        poll_ms=own.duration_ms("poll", default=DEFAULT_POLL_MS),
        rows_max=own.integer("rows_max", minimum=1, default=DEFAULT_ROWS_MAX),
        keep_ms=own.duration_ms("keep", default=0),
    )
    own.end()
    return settings


def packages(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, JdbcSettings)
    return (settings.database.dialect.package,)


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, JdbcSettings)
    table = PolledTable(session, settings, declaration, context)
    schema = table.remembered.read() or _first_schema(table, declaration)
    context.before_start.append(partial(_record_readers, table, context))
    part = f"{declaration.name}.poll"
    if context.available_now or context.pipeline.trigger.available_now:
        try:
            table.catch_up()
        except _TableChanged as change:
            # The sinks have not written all rows that landed before the change: they do it now, and
            # the change is handled afterwards.
            context.beside[part] = partial(_start_ticking, partial(table.handle_change, change), _DRAIN_POLL_MS, part, context)
        else:
            schema = table.remembered.read() or schema
    else:
        context.beside[part] = partial(_start_ticking, table.poll_patiently, settings.poll_ms, part, context)
    return session.readStream.schema(schema).parquet(table.landing.rows)


def accept(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
    settings = declaration.settings
    assert isinstance(settings, JdbcSettings)
    table = PolledTable(session, settings, declaration, context)
    found = table.schema()
    changes = table.remembered.changes(found)
    if breaking(changes) and not table.is_drained():
        raise CannotRun(
            f"Rows of source {declaration.name!r} were polled with the old columns and are not written yet: "
            "run the pipeline with the old file until it stops at the change, and accept it then."
        )
    table.take_over(found, changes)
    return changes


class _TableChanged(Exception):
    """Raised by a poll, which read nothing."""

    def __init__(self, found: StructType, changes: tuple[SchemaChange, ...]) -> None:
        super().__init__(describe(changes))
        self.found = found
        self.changes = changes


class PolledTable:
    def __init__(self, session: SparkSession, settings: JdbcSettings, declaration: SourceDeclaration, context: RunContext) -> None:
        self._session = session
        self._settings = settings
        self._context = context
        self.remembered = RememberedSchema(declaration, context)
        self.landing = Landing(session, context.checkpoint_of(f"-landed/{declaration.name}"))
        self._away = False
        # Names of the sinks that read the rows. They are kept because only plans contain them, and
        # there is no plan when a change is accepted: by then the steps may refer to columns that
        # are not remembered yet.
        self._kept_readers = context.kept(f"readers/{declaration.name}")

    @property
    def readers(self) -> tuple[str, ...] | None:
        """Checkpoints of the sinks that read the rows, as of the last start of the pipeline; None
        before the first."""
        text = self._kept_readers.read()
        if text is None:
            return None
        names = json.loads(text)
        return tuple(self._context.checkpoint_of(sink.name) for sink in self._context.pipeline.sinks if sink.name in names)

    @property
    def declared(self) -> str | None:
        return self._settings.schema

    def set_readers(self, names: list[str]) -> None:
        self._kept_readers.write(json.dumps(names))

    def poll(self) -> int:
        """Returns the number of rows that landed. Raises ``_TableChanged`` before reading when the
        columns differ from the remembered ones."""
        from pyspark.sql import functions as F

        settings = self._settings
        found = self._unchanged_schema()
        kept = self.landing.position()
        position = None if kept is None else Position.from_json(kept)
        try:
            staged = self.landing.stage(self._rows(settings.query.rows_after(position, settings.rows_max)))
        except Exception:
            # A column that was dropped during the read may be the cause; report that instead.
            self._unchanged_schema()
            raise
        places = [name for name in (AT, NUMBER) if name in staged.columns]
        last = F.max_by(F.struct(*places), ROW) if places else F.lit(None)
        count, end = staged.agg(F.count("*"), last).collect()[0]
        if count and self.schema() != found:
            # The columns changed between the check and the read. SQLite returns a column's *name*
            # where the column is gone, so these rows cannot be trusted: the next poll reads them
            # again.
            self._unchanged_schema()
            return self.poll()
        if count:
            reached = "null" if end is None else Position(end[AT] if AT in places else None, end[NUMBER]).to_json()
            self.landing.land(reached)
        return int(count)

    def _unchanged_schema(self) -> StructType:
        found = self.schema()
        changes = self.remembered.changes(found)
        if changes if self.remembered.accepts else breaking(changes):
            raise _TableChanged(found, changes)
        self.remembered.announce(changes)
        return found

    def handle_change(self, change: _TableChanged) -> None:
        """Returns while rows that landed before the change are not written yet."""
        if breaking(change.changes) and not self.is_drained():
            return
        if not self.remembered.accepts:
            raise self.remembered.changed(change.changes, f"table {self._settings.query.table}")
        self.take_over(change.found, change.changes)
        _log.warning("Source %r accepts the new columns: %s.", self.remembered.source.name, describe(change.changes))
        raise SchemaTakenOver(f"Source {self.remembered.source.name!r} has new columns.")

    def is_drained(self) -> bool:
        return self.landing.is_empty or ((readers := self.readers) is not None and self.landing.is_read_by(readers))

    def take_over(self, found: StructType, changes: tuple[SchemaChange, ...]) -> None:
        """Rows of the old shape that are kept for later sinks are removed: read with the new
        columns, their values would be null."""
        if not changes:
            return
        if breaking(changes):
            self.landing.land_nothing()
        self.remembered.write(found)
        if breaking(changes):
            self.landing.forget_all_but_last()

    def forget(self) -> None:
        self.landing.forget(self.readers or (), self._settings.keep_ms)

    def poll_patiently(self) -> None:
        """Reads all available rows; none if the database is down."""
        try:
            self._poll_all()
        except _TableChanged as change:
            self.handle_change(change)
        except Exception as error:
            if not is_unavailable(error):
                raise
            if not self._away:
                _log.warning("The database of table %s is down; every poll tries it again.", self._settings.query.table)
            self._away = True
        else:
            if self._away:
                _log.warning("The database of table %s is back.", self._settings.query.table)
            self._away = False
            self.forget()

    def catch_up(self) -> None:
        """Reads all available rows. Raises ``_TableChanged`` when the columns changed and rows of
        the old shape are not written yet."""
        deadline = time.monotonic() + AWAY_SECONDS_MAX
        while True:
            try:
                self._poll_all()
                return
            except _TableChanged as change:
                if breaking(change.changes) and not self.is_drained():
                    raise
                with suppress(SchemaTakenOver):
                    self.handle_change(change)
            except Exception as error:
                if not is_unavailable(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_AWAY_PAUSE_SECONDS)

    def schema(self) -> StructType:
        return self._rows(self._settings.query.schema()).schema

    def _poll_all(self) -> None:
        while self.poll() >= self._settings.rows_max and self._settings.query.mode != "bulk":
            pass

    def _rows(self, query: str) -> DataFrame:
        reader = self._session.read.format("jdbc").options(**self._settings.database.spark_options(), query=query)
        if not self._settings.database.is_sqlite:
            rows = reader.load()
            return rows if self._settings.schema is None else _as_declared(rows, self._settings.schema)
        guessed = {field.name: field.dataType.simpleString() for field in reader.load().schema.fields}
        guessed |= {name: kind for name, kind in ((ROW, "bigint"), (AT, "string"), (NUMBER, "string")) if name in guessed}
        stored = {name: _sqlite_storage(kind) for name, kind in guessed.items()}
        rows = reader.option("customSchema", ", ".join(f"`{name}` {kind}" for name, kind in stored.items())).load()
        wanted = {name: _wide(kind) for name, kind in guessed.items()}
        if self._settings.schema is not None:
            wanted |= _types(self._settings.schema)
        return rows.select(*(_from_sqlite(name, stored[name], wanted[name]) for name in guessed))


def _start_ticking(tick: Callable[[], None], every_ms: int, part: str, context: RunContext) -> StreamingQuery:
    """A query that reads only the clock, so that it is shown, reported and stopped like the
    others."""
    ticks = context.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    writer = ticks.writeStream.queryName(context.query_name(part)).option("checkpointLocation", context.checkpoint_of(part))
    return writer.trigger(processingTime=f"{every_ms} milliseconds").foreachBatch(lambda _, __: tick()).start()


def _record_readers(table: PolledTable, context: RunContext) -> None:
    """Uses Spark's plans, not the text of the declaration: a sink that is missed here would lose
    rows."""
    table.set_readers([sink.name for sink in context.pipeline.sinks if _reads(context.frame(sink.source), table.landing.rows)])
    table.forget()


def _reads(frame: DataFrame, folder: str) -> bool:
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - PySpark shows no plans but as text
    return any(f"[{folder}]" in leaves.apply(each).toString() for each in range(leaves.size()))


def _first_schema(table: PolledTable, declaration: SourceDeclaration) -> StructType:
    """Remembers the columns: a later start works even while the database is down."""
    try:
        schema = table.schema()
    except Exception as error:
        if is_unavailable(error):
            raise CannotRun(f"The database of source {declaration.name!r} does not answer: {_first_line(error)}.") from error
        raise
    have = {name.lower() for name in schema.names}
    for name in _types(table.declared or ""):
        if name.lower() not in have:
            raise declaration.place.error(f"source {declaration.name!r} declares the column {name!r}, which its table does not have.")
    table.remembered.write(schema)
    return schema


def _as_declared(rows: DataFrame, schema: str) -> DataFrame:
    from pyspark.sql import functions as F

    types = _types(schema)
    return rows.select(*(F.col(f"`{name}`").cast(types[name]).alias(name) if name in types else f"`{name}`" for name in rows.columns))


def _types(schema: str) -> dict[str, str]:
    from pyspark.sql.types import StructType

    parsed = StructType.fromDDL(schema)
    assert isinstance(parsed, StructType)
    return {field.name: field.dataType.simpleString() for field in parsed.fields}


def _wide(guess: str) -> str:
    """SQLite's numbers have 64 bits, whatever type the column declares to its driver."""
    return {"int": "bigint", "smallint": "bigint", "tinyint": "bigint", "float": "double"}.get(guess, guess)


def _sqlite_storage(guess: str) -> str:
    """The type to request from the driver: one that loses nothing."""
    wide = _wide(guess)
    return wide if wide in ("bigint", "double", "binary") else "string"


def _from_sqlite(name: str, stored: str, wanted: str) -> Column:
    from pyspark.sql import functions as F

    value = F.col(f"`{name}`")
    if stored == "string" and wanted in ("timestamp", "date"):
        number = value.rlike(r"^-?\d+$")
        return F.when(number, F.timestamp_millis(value.try_cast("bigint"))).otherwise(value.try_cast("timestamp")).cast(wanted).alias(name)
    return value.cast(wanted).alias(name)


def _first_line(wrong: BaseException) -> str:
    return str(wrong).strip().partition("\n")[0].rstrip(".")
