"""Each key once: ``{view: unique, deduplicate: {from: payments, keys: [id], within: 1 hour}}``.

``within`` bounds the memory: a row is dropped when one with its keys came less than that before it,
by the times in ``time`` (default: ``_timestamp``, when the record was written). Without it every
key is remembered for ever, unless a column with a watermark is among the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration

DEFAULT_TIME = "_timestamp"


@dataclass(frozen=True, slots=True)
class DeduplicateSettings:
    source: str
    keys: tuple[str, ...]
    within: str | None
    time: str


def declare(fields: Fields) -> DeduplicateSettings:
    own = fields.nested("deduplicate")
    settings = DeduplicateSettings(
        source=own.text("from"),
        keys=own.texts("keys"),
        within=own.optional_interval("within"),
        time=own.text("time", default=DEFAULT_TIME),
    )
    own.end()
    return settings


def inputs(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, DeduplicateSettings)
    return (settings.source,)


def apply(declaration: StepDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, DeduplicateSettings)
    frame = context.frame(settings.source)
    keys = list(settings.keys)
    if settings.within is None:
        return frame.dropDuplicates(keys)
    return frame.withWatermark(settings.time, settings.within).dropDuplicatesWithinWatermark(keys)
