"""The flow of a pipeline as a document: sources, steps and sinks, and what leads to what.

A run publishes it to the progress topic when it starts, under ``<pipeline>.-flow``, so that a
watcher can draw the pipeline without its file. It names topics, tables and folders; addresses,
settings and queries, which may hold passwords, stay out of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.declaration.located import plain

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

# The field of a kind's mapping that names its place.
_PLACES = {"jdbc": "table", "files": "path", "lake": "path"}


def flow_key(pipeline: str) -> str:
    """A key that no query can have."""
    return f"{pipeline}.-flow"


def flow_record(pipeline: PipelineDeclaration) -> dict[str, Any]:
    return {
        "event": "flow",
        "pipeline": pipeline.name,
        "at": datetime.now(UTC).isoformat(),
        # A query reports once in this time, or every few seconds if there is none.
        "interval_ms": pipeline.trigger.interval_ms,
        "sources": [
            {"name": each.name, "kind": each.kind, "places": places_of(each), "dead_letters": _letters(each)} for each in pipeline.sources
        ],
        "steps": [{"name": each.view, "kind": each.kind, "inputs": list(each.inputs)} for each in pipeline.steps],
        "sinks": [{"name": each.name, "kind": each.kind, "inputs": [each.source], "places": places_of(each)} for each in pipeline.sinks],
    }


def places_of(declared: SourceDeclaration | SinkDeclaration) -> list[str]:
    """Topics, a table or a folder; none for a generator and for the terminal."""
    fields = plain(declared.declared)
    found = fields.get(declared.kind) if isinstance(fields, dict) else None
    if isinstance(found, dict):
        found = found.get(_PLACES.get(declared.kind, ""))
    if isinstance(found, str):
        return [found]
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _letters(source: SourceDeclaration) -> str | None:
    letters = None if source.decoding is None else source.decoding.dead_letters
    return None if letters is None else letters.topic
