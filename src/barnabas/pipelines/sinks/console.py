"""Rows on the terminal, for a first look: ``seen: {from: large, console: {rows: 20}}``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration

# A screen full.
DEFAULT_ROWS = 20


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    rows: int
    truncate: bool


def declare(fields: Fields) -> ConsoleSettings:
    own = fields.optional_nested("console")
    if own is None:
        return ConsoleSettings(DEFAULT_ROWS, truncate=True)
    settings = ConsoleSettings(own.integer("rows", minimum=1, default=DEFAULT_ROWS), own.flag("truncate", default=True))
    own.end()
    return settings


def start(frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
    settings = declaration.settings
    assert isinstance(settings, ConsoleSettings)
    shown = frame.select(*(f"`{name}`" for name in frame.columns if not name.startswith("_")))
    writer = context.writer(shown, declaration.name, declaration.mode).format("console")
    return writer.option("numRows", settings.rows).option("truncate", settings.truncate).start()
