"""Files in a folder, exactly once: ``out: {from: x, files: {path: out/, format: json, partition_by:
[day]}}``.

Spark's file sink writes files first and then records in ``_spark_metadata`` which of them count;
Spark reads only those. Other readers of the folder may see files of a failed batch: for them a lake
table is better. Files cannot hold results that change (``mode: update``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.sinks import Check, has_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration

FORMATS = ("json", "csv", "parquet", "orc", "text")


@dataclass(frozen=True, slots=True)
class FilesSinkSettings:
    path: str
    format: str
    partition_by: tuple[str, ...]
    options: dict[str, str]  # passed on to Spark's writer


def declare(fields: Fields) -> FilesSinkSettings:
    own = fields.nested("files")
    settings = FilesSinkSettings(
        path=own.text("path"),
        format=own.choice("format", FORMATS, default="json"),
        partition_by=own.optional_texts("partition_by") or (),
        options=own.optional_texts_by_name("options"),
    )
    own.end()
    return settings


def checks(frame: DataFrame, declaration: SinkDeclaration) -> Iterable[Check]:
    settings = declaration.settings
    assert isinstance(settings, FilesSinkSettings)
    if settings.partition_by:
        yield ("files", "partition_by"), has_columns(frame, settings.partition_by)


def start(frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
    settings = declaration.settings
    assert isinstance(settings, FilesSinkSettings)
    shown = frame.select(*(f"`{name}`" for name in frame.columns if not name.startswith("_")))
    defaults = {"header": "true", "escape": '"'} if settings.format == "csv" else {}
    writer = context.writer(shown, declaration.name, declaration.mode).format(settings.format).options(**{**defaults, **settings.options})
    if settings.partition_by:
        writer = writer.partitionBy(*settings.partition_by)
    return writer.start(settings.path)
