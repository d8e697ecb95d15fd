"""A whole pipeline as it is declared, and the checks that need all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields, duration_ms, ending
from barnabas.pipelines.declaration.located import Located, Place
from barnabas.pipelines.declaration.repeatable import check_repeatable
from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration, declare_sink
from barnabas.pipelines.declaration.source_declarations import SourceDeclaration, declare_source
from barnabas.pipelines.declaration.step_declarations import StepDeclaration, declare_step

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_CHECKPOINT = ".barnabas/checkpoints"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Trigger:
    """``interval_ms`` None: the next batch starts as soon as there is new data."""

    interval_ms: int | None = None
    available_now: bool = False


@dataclass(frozen=True, slots=True)
class PipelineDeclaration:
    name: str
    place: Place
    bootstrap: str
    checkpoint: str
    kafka: Mapping[str, str]
    spark: Mapping[str, str]  # settings of the session
    sources: tuple[SourceDeclaration, ...]
    steps: tuple[StepDeclaration, ...]
    sinks: tuple[SinkDeclaration, ...]
    trigger: Trigger

    @property
    def path(self) -> str:
        return self.place.path


def declare_pipeline(found: Located) -> PipelineDeclaration:
    fields = Fields(found, "the pipeline")
    name = fields.text("name")
    if _NAME.fullmatch(name) is None:
        raise fields.error(
            f"the name {name!r} may only have letters, digits, dots, underscores and dashes, because a folder is named after it.", "name"
        )
    declaration = PipelineDeclaration(
        name=name,
        place=found.place,
        bootstrap=fields.optional_text("bootstrap") or DEFAULT_BOOTSTRAP,
        checkpoint=fields.optional_text("checkpoint") or DEFAULT_CHECKPOINT,
        kafka=fields.optional_texts_by_name("kafka"),
        spark=fields.optional_texts_by_name("spark"),
        sources=tuple(declare_source(each, value) for each, value in fields.optional_items("sources").items()),
        steps=tuple(declare_step(position, value) for position, value in enumerate(fields.optional_list("steps"), start=1)),
        sinks=tuple(declare_sink(each, value) for each, value in fields.optional_items("sinks").items()),
        trigger=_declare_trigger(fields),
    )
    fields.end()
    if not declaration.sources:
        raise fields.error("the pipeline has no sources, so there is nothing to read.", "sources")
    if not declaration.sinks:
        raise fields.error("the pipeline has no sinks, so nothing would be written.", "sinks")
    _check_names(declaration)
    check_repeatable(declaration)
    return declaration


def _declare_trigger(fields: Fields) -> Trigger:
    found = fields.located("trigger")
    match None if found is None else found.value:
        case None | "continuous":
            return Trigger()
        case "available_now":
            return Trigger(available_now=True)
    assert found is not None
    return Trigger(interval_ms=duration_ms(found, "'trigger' (a duration, available_now or continuous)"))


def _check_names(declaration: PipelineDeclaration) -> None:
    """Every name must be declared before it is read: a step sees the sources and the steps above
    it."""
    known = {source.name: source.place for source in declaration.sources}
    later = {step.view for step in declaration.steps}
    for step in declaration.steps:
        if step.view in known:
            raise step.place.error(f"there is already a source or step called {step.view!r}, on line {known[step.view].line}.")
        for each in step.inputs:
            if each not in known:
                why = "which is this step itself" if each == step.view else "which is only made below" if each in later else ""
                reads = f"step {step.view!r} reads {each!r}"
                raise step.place.error(
                    f"{reads}, {why}." if why else f"{reads}, but there is no source or step of that name{ending(each, known)}"
                )
        known[step.view] = step.place
    for sink in declaration.sinks:
        if sink.source not in known:
            raise sink.source_place.error(
                f"sink {sink.name!r} reads {sink.source!r}, but there is no source or step of that name{ending(sink.source, known)}"
            )
