"""What exactly once rests on: a batch that is run again gives the same rows. Some of what would break that is seen in the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.sources import SOURCES
from barnabas.pipelines.steps import STEPS

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration


def check_repeatable(pipeline: PipelineDeclaration) -> None:
    """A source that is read anew whenever a batch runs may not reach an exactly-once sink, but by a step that keeps it in its state."""
    changing = {source.name for source in pipeline.sources if SOURCES.constant(source.kind, "READ_ANEW", False)}
    for sink in pipeline.sinks:
        if getattr(sink.settings, "guarantee", None) != "exactly_once":
            continue
        for step in _steps_of(sink, pipeline):
            if STEPS.constant(step.kind, "KEEPS_TABLES", False):
                continue
            for table in (each for each in step.inputs if each in changing):
                raise step.place.error(
                    f"step {step.view!r} reads the table {table!r} as it is at that moment, which may be another when a batch is run "
                    f"again, and sink {sink.name!r} (line {sink.place.line}) writes exactly once; join them in a step with 'join', "
                    "or let the sink have guarantee: at_least_once."
                )


def _steps_of(sink: SinkDeclaration, pipeline: PipelineDeclaration) -> list[StepDeclaration]:
    """Those whose rows reach it, from the first to the last."""
    wanted = {sink.source}
    found = []
    for step in reversed(pipeline.steps):
        if step.view in wanted:
            found.append(step)
            wanted.update(step.inputs)
    return found[::-1]
