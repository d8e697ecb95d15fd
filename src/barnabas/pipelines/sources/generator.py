"""Generated rows at a steady rate, for demos: ``ticks: {generator: {rows_per_second: 100}, columns:
{account: "value % 10"}}``.

The columns are SQL over ``value`` (0, 1, 2, ...) and ``timestamp``; without any, those two are the
columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

DEFAULT_ROWS_PER_SECOND = 10


@dataclass(frozen=True, slots=True)
class GeneratorSettings:
    # A fixed number in every batch, however long that takes; for tests and benchmarks.
    rows_per_batch: int | None
    rows_per_second: int
    columns: dict[str, str]


def declare(fields: Fields) -> GeneratorSettings:
    own = fields.nested("generator")
    settings = GeneratorSettings(
        rows_per_batch=own.optional_integer("rows_per_batch", minimum=1),
        rows_per_second=own.integer("rows_per_second", minimum=1, default=DEFAULT_ROWS_PER_SECOND),
        columns=fields.optional_texts_by_name("columns"),
    )
    own.end()
    return settings


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, GeneratorSettings)
    if settings.rows_per_batch is not None:
        rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", settings.rows_per_batch).load()
    else:
        rows = session.readStream.format("rate").option("rowsPerSecond", settings.rows_per_second).load()
    if not settings.columns:
        return rows
    return rows.selectExpr(*(f"{expression} AS `{name}`" for name, expression in settings.columns.items()))
