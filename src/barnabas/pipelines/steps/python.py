"""A function from frames to a frame: ``{view: surge, python: pricing:surge, inputs: [rides,
drivers], arguments: {factor: 2}}``.

The frames come in the order of ``inputs``, the arguments by name. It is called once, when the
pipeline starts, and must not run queries of its own on a streaming frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.declaration.located import plain
from barnabas.pipelines.steps.loading import declare_function, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration


@dataclass(frozen=True, slots=True)
class PythonSettings:
    function: Callable[..., Any] | str
    inputs: tuple[str, ...]
    arguments: dict[str, Any]


def declare(fields: Fields) -> PythonSettings:
    function = declare_function(fields, "python")
    arguments = {name: plain(each) for name, each in fields.optional_items("arguments").items()}
    return PythonSettings(function, fields.texts("inputs"), arguments)


def inputs(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, PythonSettings)
    return settings.inputs


def check_alone(declaration: StepDeclaration, context: RunContext) -> None:
    """The module and the function, where the inputs are invalid."""
    settings = declaration.settings
    assert isinstance(settings, PythonSettings)
    load(settings.function, declaration.declared.place_of("python"))


def apply(declaration: StepDeclaration, context: RunContext) -> DataFrame:
    from pyspark.sql import DataFrame

    settings = declaration.settings
    assert isinstance(settings, PythonSettings)
    function = load(settings.function, declaration.declared.place_of("python"))
    made = function(*(context.frame(name) for name in settings.inputs), **settings.arguments)
    if not isinstance(made, DataFrame):
        raise declaration.place.error(f"step {declaration.view!r}: the function returned {type(made).__name__}, not a DataFrame.")
    return made
