"""Custom state per key: ``{view: streaks, state: {from: games, keys: [player], function:
streaks:Streak, schema: "..."}}``.

The function is a class, a ``pyspark.sql.streaming.StatefulProcessor``: Spark gives it the rows of a
key and keeps its values, lists, maps and timers in the state store, with the checkpoint. ``schema``
describes its output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.steps.loading import declare_function, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration

_TIMES = {"none": "None", "processing": "ProcessingTime", "event": "EventTime"}


@dataclass(frozen=True, slots=True)
class StateSettings:
    source: str
    keys: tuple[str, ...]
    function: Callable[..., Any] | str
    schema: str
    mode: str  # append or update, as declared by the sinks that read it
    time: str  # the clock of the processor's timers


def declare(fields: Fields) -> StateSettings:
    own = fields.nested("state")
    settings = StateSettings(
        source=own.text("from"),
        keys=own.texts("keys"),
        function=declare_function(own, "function"),
        schema=own.text("schema"),
        mode=own.choice("mode", ("append", "update"), default="append"),
        time=own.choice("time", tuple(_TIMES), default="none"),
    )
    own.end()
    return settings


def inputs(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, StateSettings)
    return (settings.source,)


def check_alone(declaration: StepDeclaration, context: RunContext) -> None:
    """The module and the class, where the inputs are invalid."""
    settings = declaration.settings
    assert isinstance(settings, StateSettings)
    load(settings.function, declaration.declared.place_of("state", "function"))


def apply(declaration: StepDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, StateSettings)
    processor: Any = load(settings.function, declaration.declared.place_of("state", "function"))
    grouped = context.frame(settings.source).groupBy(*settings.keys)
    return grouped.transformWithStateInPandas(
        statefulProcessor=processor() if isinstance(processor, type) else processor,
        outputStructType=settings.schema,
        outputMode=settings.mode.capitalize(),
        timeMode=_TIMES[settings.time],
    )
