"""Checks the condition of exactly-once sinks: a batch that runs again gives the same rows. Only
some violations can be seen in the declaration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.sources import SOURCES
from barnabas.pipelines.steps import STEPS

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.findings import Findings
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration


def check_repeatable(pipeline: PipelineDeclaration, findings: Findings) -> None:
    """A source that is read again in every batch may not reach an exactly-once sink, except through
    a step that keeps it in its state."""
    changing = {source.name for source in pipeline.sources if SOURCES.constant(source.kind, "READ_ANEW", False)}
    for sink in pipeline.sinks:
        if getattr(sink.settings, "guarantee", None) != "exactly_once":
            continue
        for step in _steps_of(sink, pipeline):
            if STEPS.constant(step.kind, "KEEPS_TABLES", False):
                continue
            for table in (each for each in step.inputs if each in changing):
                mistake = step.place.error(
                    f"step {step.view!r} reads the table {table!r} as it is at that moment, which may differ when a batch runs again, "
                    f"and sink {sink.name!r} (line {sink.place.line}) writes exactly once; use a step with 'join', "
                    "or give the sink guarantee: at_least_once."
                )
                findings.report(mistake)


def _steps_of(sink: SinkDeclaration, pipeline: PipelineDeclaration) -> list[StepDeclaration]:
    """The steps whose rows reach the sink, from the first to the last."""
    wanted = {sink.source}
    found = []
    for step in reversed(pipeline.steps):
        if step.view in wanted:
            found.append(step)
            wanted.update(step.inputs)
    return found[::-1]
