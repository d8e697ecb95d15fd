"""Lake tables: ``lake: {from: large, lake: {format: delta, path: lake/alerts, partition_by: [day],
merge_on: [account]}}``.

format    without merge_on               with merge_on
=======   ============================   ===========================================================
parquet   rows are added, exactly once   not possible: a Parquet folder cannot replace a row
delta     rows are added, exactly once   MERGE: a row replaces the one with the same keys,
                                         ``delete`` removes it
iceberg   rows are added, exactly once   the same

Added rows are exactly once because Spark's file sink and both formats record the batch together
with its files. A merge is one MERGE per batch, which changes nothing when it runs again: that is
exactly once in effect. Of several rows with the same keys in a batch the latest counts
(:mod:`barnabas.pipelines.sinks.changed_rows`). A missing table is created with the first batch.

An Iceberg table lies in ``path`` as a Hadoop catalogue keeps it; with ``table:
catalogue.schema.name`` instead it belongs to a catalogue that the pipeline's ``spark`` settings
describe. ``evolve: true`` adds columns that a Delta table does not have yet.
"""

# ruff: noqa: S608 - names are quoted, and there are no values

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.packages import DELTA, ICEBERG
from barnabas.pipelines.sinks import Check, has_columns
from barnabas.pipelines.sinks.changed_rows import DELETED, ChangeSettings, change_checks, changed_rows, declare_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration

FORMATS = ("delta", "iceberg", "parquet")
# Delta reads a table's log with 50 tasks in every batch by default, which suits clusters.
_LOCAL_SNAPSHOT_PARTITIONS = "2"


@dataclass(frozen=True, slots=True)
class LakeSettings:
    format: str
    path: str | None
    table: str | None  # of a catalogue, in place of a path
    partition_by: tuple[str, ...]
    changes: ChangeSettings
    evolve: bool


def declare(fields: Fields) -> LakeSettings:
    own = fields.nested("lake")
    settings = LakeSettings(
        format=own.choice("format", FORMATS),
        path=own.optional_text("path"),
        table=own.optional_text("table"),
        partition_by=own.optional_texts("partition_by") or (),
        changes=declare_changes(own, "merge_on"),
        evolve=own.flag("evolve", default=False),
    )
    if ("path" in own) == ("table" in own):
        own.report(f"{own.what} has either a 'path' or a 'table'.")
    if settings.table is not None and settings.format != "iceberg":
        own.report(f"{own.what} has a 'table', but only Iceberg tables have names; give its 'path'.", "table")
    if settings.changes.keys and settings.format == "parquet":
        own.report(f"{own.what} cannot merge into parquet, which cannot replace rows; use delta or iceberg.", "merge_on")
    own.end()
    return settings


def packages(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, LakeSettings)
    return {"delta": (DELTA,), "iceberg": (ICEBERG,), "parquet": ()}[settings.format]


def checks(frame: DataFrame, declaration: SinkDeclaration) -> Iterable[Check]:
    settings = declaration.settings
    assert isinstance(settings, LakeSettings)
    if settings.partition_by:
        yield ("lake", "partition_by"), has_columns(frame, settings.partition_by)
    yield from change_checks(frame, settings.changes, "lake", "merge_on")


def start(frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
    settings = declaration.settings
    assert isinstance(settings, LakeSettings)
    if str(context.session.sparkContext.master).startswith("local"):
        context.session.conf.set("spark.databricks.delta.snapshotPartitions", _LOCAL_SNAPSHOT_PARTITIONS)
    if settings.changes.keys:
        merged = MergedTable(settings, _catalogue(declaration.name))
        return context.writer(frame, declaration.name, declaration.mode).foreachBatch(merged.write).start()
    shown = frame.select(*(f"`{name}`" for name in frame.columns if not name.startswith("_")))
    writer = context.writer(shown, declaration.name, declaration.mode).format(settings.format)
    if settings.format == "iceberg":
        table = iceberg_table(context.session, settings, _catalogue(declaration.name))
        _create(shown.sparkSession, shown, settings, table)
        # A batch may have rows for many partitions, in any order.
        return writer.option("fanout-enabled", "true").toTable(table)
    if settings.partition_by:
        writer = writer.partitionBy(*settings.partition_by)
    assert settings.path is not None
    return writer.option("mergeSchema", str(settings.evolve).lower()).start(settings.path)


class MergedTable:
    def __init__(self, settings: LakeSettings, catalogue: str) -> None:
        self._settings = settings
        self._catalogue = catalogue

    def write(self, batch: DataFrame, number: int) -> None:
        settings, session = self._settings, batch.sparkSession
        by_path = settings.format == "delta"
        table = f"delta.`{settings.path}`" if by_path else iceberg_table(session, settings, self._catalogue)
        rows = changed_rows(batch, settings.changes).persist()
        try:
            _create(session, rows.drop(DELETED), settings, table)
            rows.createOrReplaceTempView("barnabas_changes")
            if settings.evolve:
                session.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
            session.sql(merge_statement(table, rows.columns, settings.changes))
        finally:
            rows.unpersist()


def merge_statement(table: str, columns: list[str], changes: ChangeSettings) -> str:
    names = [f"`{name}`" for name in columns if name != DELETED]
    same = " AND ".join(f"t.`{key}` <=> c.`{key}`" for key in changes.keys)
    return " ".join(
        (
            f"MERGE INTO {table} t USING barnabas_changes c ON {same}",
            f"WHEN MATCHED AND c.{DELETED} = 1 THEN DELETE",
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = c.{name}' for name in names)}",
            f"WHEN NOT MATCHED AND c.{DELETED} = 0 THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f'c.{name}' for name in names)})",
        )
    )


def iceberg_table(session: SparkSession, settings: LakeSettings, catalogue: str) -> str:
    """The table's name in SQL. A path becomes a table of a catalogue of its own, defined here
    because Spark looks up catalogues when they are used."""
    if settings.table is not None:
        return settings.table
    assert settings.path is not None
    folder, _, name = settings.path.rstrip("/").rpartition("/")
    prefix = f"spark.sql.catalog.{catalogue}"
    session.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set(f"{prefix}.type", "hadoop")
    session.conf.set(f"{prefix}.warehouse", folder or ".")
    return f"{catalogue}.`{name}`"


def _create(session: SparkSession, rows: DataFrame, settings: LakeSettings, table: str) -> None:
    columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in rows.schema.fields)
    partitions = f" PARTITIONED BY ({', '.join(f'`{name}`' for name in settings.partition_by)})" if settings.partition_by else ""
    session.sql(f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING {settings.format}{partitions}")


def _catalogue(sink: str) -> str:
    return "barnabas_" + re.sub(r"\W", "_", sink)
