"""``barnabas pipelines accept-schema``: accept the current columns of the sources."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, assert_never, cast

from barnabas.pipelines.context import RunContext
from barnabas.pipelines.running.build import located_errors
from barnabas.pipelines.schema_changes.columns import Added, Loosened, Removed, Retyped, SchemaChange, describe
from barnabas.pipelines.schema_changes.remembered import RememberedSchema
from barnabas.pipelines.session import open_session
from barnabas.pipelines.sources import SOURCES, AcceptsSchema

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

_log = logging.getLogger("barnabas.pipelines")


def accept_declared(pipelines: Sequence[PipelineDeclaration], *, checkpoint: str | None = None, master: str | None = None) -> Iterator[str]:
    """The command: yields a line for each source and each of its changes."""
    session = open_session(pipelines, master)
    try:
        contexts = [RunContext(session.newSession(), each, checkpoint or each.checkpoint) for each in pipelines]
        for context, source, changes in accept(contexts):
            yield f"{context.name}.{source.name}: {'changed' if changes else 'unchanged'}"
            yield from (f"  {_line(each)}" for each in changes)
    finally:
        session.stop()


def _line(change: SchemaChange) -> str:
    match change:
        case Removed(name, kind):
            return f"removed  {name} {kind}"
        case Retyped(name, before, after):
            return f"retyped  {name} {before} -> {after}"
        case Loosened(name):
            return f"optional {name}"
        case Added(name, kind):
            return f"added    {name} {kind}"
    assert_never(change)


def take_over(source: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
    """During a run, for a source whose declaration accepts changes. Returns nothing when the
    columns are the remembered ones."""
    changes = _accept(source, context)
    if changes:
        _log.warning("Source %r accepts the new columns: %s.", source.name, describe(changes))
    return changes


def accept(contexts: Sequence[RunContext]) -> Iterator[tuple[RunContext, SourceDeclaration, tuple[SchemaChange, ...]]]:
    """The changes of each source with remembered columns."""
    for context in contexts:
        for source in context.pipeline.sources:
            if SOURCES.constant(source.kind, "REMEMBERS_SCHEMA", False):
                yield context, source, _accept(source, context)


def _accept(source: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
    if RememberedSchema(source, context).read() is None or (source.decoding is not None and source.decoding.format.schema is not None):
        return ()  # nothing was read yet, or the declaration has the columns
    with located_errors(source.place, f"source {source.name!r}"):
        return cast(AcceptsSchema, SOURCES.of(source.kind)).accept(context.session, source, context)
