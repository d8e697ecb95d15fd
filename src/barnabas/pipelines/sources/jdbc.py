"""Tables of a database, polled.

    orders: {jdbc: {url: "jdbc:postgresql://db/shop", table: orders, mode: incrementing, incrementing: id, poll: 5 seconds}}

mode (see :mod:`barnabas.pipelines.sources.jdbc_query`) says how new rows are found. Spark reads databases but does not stream them, so
polled rows land in files beside the checkpoint and are streamed from there (:mod:`barnabas.pipelines.sources.landing`): where polling went
on to is known exactly, and a batch that runs again has the same rows.

The poll is a query of its own beside the sinks', with its own line in the progress. A database that is away is asked again at every poll;
one that says no (the table is gone, a column is) ends the pipeline. With ``available_now`` what is there by now is read before the sinks
start, and then nothing more.

SQLite has types for values, not for columns: declare ``schema`` where the guess by the columns' declared types is wrong. Its times are
texts or numbers; as TIMESTAMP they are read as UTC, numbers as milliseconds since 1970.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.jdbc_database import JdbcDatabase, declare_database, is_away
from barnabas.pipelines.sources.jdbc_query import AT, MODES, NUMBER, ROW, JdbcQuery, Position
from barnabas.pipelines.sources.landing import Landing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

DEFAULT_POLL_MS = 5_000
# One poll's rows: a file of some megabytes. More wait for the next poll, which follows at once.
DEFAULT_ROWS_MAX = 100_000
# How long a database may be away before a run that shall end (available_now) gives up.
AWAY_SECONDS_MAX = 60.0
_AWAY_PAUSE_SECONDS = 1.0

_log = logging.getLogger("barnabas.pipelines")


@dataclass(frozen=True, slots=True)
class JdbcSettings:
    query: JdbcQuery
    schema: str | None
    poll_ms: int
    rows_max: int
    keep_ms: int  # how long rows that every sink has are kept for sinks that are added later

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
    delay_ms = (own.optional_duration_ms("delay") or 0) if at is not None else 0
    settings = JdbcSettings(
        query=JdbcQuery(database, table, mode, number, at, delay_ms),
        schema=fields.optional_text("schema"),
        poll_ms=own.optional_duration_ms("poll") or DEFAULT_POLL_MS,
        rows_max=own.optional_integer("rows_max", minimum=1) or DEFAULT_ROWS_MAX,
        keep_ms=own.optional_duration_ms("keep") or 0,
    )
    own.end()
    return settings


def packages(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, JdbcSettings)
    return (settings.database.dialect.package,)


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, JdbcSettings)
    table = PolledTable(session, settings, Landing(session, context.checkpoint_of(f"-landed/{declaration.name}")))
    schema = _schema(table, declaration, context)
    context.before_start.append(partial(_meet_readers, table, context))
    if context.available_now or context.pipeline.trigger.available_now:
        table.catch_up()
    else:
        part = f"{declaration.name}.poll"
        context.beside[part] = partial(_start_polling, table, part, context)
    return session.readStream.schema(schema).parquet(table.landing.rows)


class PolledTable:
    def __init__(self, session: SparkSession, settings: JdbcSettings, landing: Landing) -> None:
        self._session = session
        self._settings = settings
        self.landing = landing
        self._away = False
        self.readers: tuple[str, ...] = ()  # checkpoints of the sinks that read it, once they are known

    def poll(self) -> int:
        """How many rows landed."""
        from pyspark.sql import functions as F

        settings = self._settings
        kept = self.landing.position()
        position = None if kept is None else Position.from_json(kept)
        staged = self.landing.stage(self._rows(settings.query.rows_after(position, settings.rows_max)))
        places = [name for name in (AT, NUMBER) if name in staged.columns]
        last = F.max_by(F.struct(*places), ROW) if places else F.lit(None)
        count, end = staged.agg(F.count("*"), last).collect()[0]
        if count:
            reached = "null" if end is None else Position(end[AT] if AT in places else None, end[NUMBER]).to_json()
            self.landing.land(reached)
        return int(count)

    def forget(self) -> None:
        self.landing.forget(self.readers, self._settings.keep_ms)

    def poll_patiently(self) -> None:
        """All there is; or nothing, where the database is away."""
        try:
            self._poll_all()
        except Exception as wrong:
            if not is_away(wrong):
                raise
            if not self._away:
                _log.warning("The database of table %s is away; it is asked again at every poll.", self._settings.query.table)
            self._away = True
        else:
            if self._away:
                _log.warning("The database of table %s is back.", self._settings.query.table)
            self._away = False
            self.forget()

    def catch_up(self) -> None:
        deadline = time.monotonic() + AWAY_SECONDS_MAX
        while True:
            try:
                self._poll_all()
                return
            except Exception as wrong:
                if not is_away(wrong) or time.monotonic() > deadline:
                    raise
                time.sleep(_AWAY_PAUSE_SECONDS)

    def schema(self) -> str:
        frame = self._rows(self._settings.query.schema())
        return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)

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


def _start_polling(table: PolledTable, part: str, context: RunContext) -> StreamingQuery:
    """A clock that ticks at every poll."""
    ticks = context.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    writer = ticks.writeStream.queryName(context.query_name(part)).option("checkpointLocation", context.checkpoint_of(part))
    settings = table._settings  # noqa: SLF001 - of this module
    return writer.trigger(processingTime=f"{settings.poll_ms} milliseconds").foreachBatch(lambda _, __: table.poll_patiently()).start()


def _meet_readers(table: PolledTable, context: RunContext) -> None:
    """By Spark's plans, not by the words of the declaration: who is overlooked here would lose rows."""
    table.readers = tuple(
        context.checkpoint_of(sink.name) for sink in context.pipeline.sinks if _reads(context.frame(sink.source), table.landing.rows)
    )
    table.forget()


def _reads(frame: DataFrame, folder: str) -> bool:
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - PySpark shows no plans but as text
    return any(f"[{folder}]" in leaves.apply(each).toString() for each in range(leaves.size()))


def _schema(table: PolledTable, declaration: SourceDeclaration, context: RunContext) -> str:
    """As it was at the first start: a later one goes on also while the database is away. Columns that were added since are left out."""
    kept = context.kept(f"schemas/{declaration.name}")
    schema = kept.read()
    if schema is None:
        try:
            schema = table.schema()
        except Exception as wrong:
            if is_away(wrong):
                raise CannotRun(f"The database of source {declaration.name!r} does not answer: {_first_line(wrong)}.") from wrong
            raise
        kept.write(schema)
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
    """SQLite's numbers have 64 bits, whatever the column's declared type says to its driver."""
    return {"int": "bigint", "smallint": "bigint", "tinyint": "bigint", "float": "double"}.get(guess, guess)


def _sqlite_storage(guess: str) -> str:
    """As what the driver is asked for a value: what it can give without losing anything."""
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
