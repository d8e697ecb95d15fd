"""The registry of each format: its own, or that of the pipeline; and the checks that need to know
which of the two it is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.pipelines.formats.avro import AvroSettings
from barnabas.pipelines.registered.settings import ONLY_WITH_REGISTRY, RegisteredSettings, RegistryAddress
from barnabas.pipelines.sinks.topic import TopicSinkSettings
from barnabas.pipelines.sources.table import TableSettings
from barnabas.pipelines.sources.topic import TopicSettings

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.findings import Findings
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration
    from barnabas.pipelines.declaration.located import Located
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration


def with_registries(pipeline: PipelineDeclaration, findings: Findings) -> PipelineDeclaration:
    return replace(
        pipeline,
        sources=tuple(_source(each, pipeline.registry, findings) for each in pipeline.sources),
        sinks=tuple(_sink(each, pipeline.registry, findings) for each in pipeline.sinks),
    )


def _source(source: SourceDeclaration, registry: RegistryAddress | None, findings: Findings) -> SourceDeclaration:
    if source.decoding is None:
        return source
    what = f"source {source.name!r}"
    found = _format(source.decoding.format, registry, source.declared, what, findings)
    if not isinstance(found.settings, RegisteredSettings):
        return source
    place_of = source.declared.place_of
    if found.schema is not None:
        findings.report(place_of("schema").error(f"the columns of {what} are those of the schema in the registry; leave out 'schema'."))
    if "register" in _own(source.declared, found.kind):
        findings.report(place_of("format", found.kind, "register").error(f"{what} only reads, so it registers nothing."))
    if _needs_subject(source, found.settings):
        sentence = f"{what} has no single subject: give the 'subject' in its format, or a schema of its own."
        findings.report(place_of("format").error(sentence))
    return replace(source, decoding=replace(source.decoding, format=found))


def _needs_subject(source: SourceDeclaration, settings: RegisteredSettings) -> bool:
    if settings.schema is not None or settings.subject is not None:
        return False
    of_topics = source.settings
    one_topic = isinstance(of_topics, TableSettings) or (isinstance(of_topics, TopicSettings) and len(of_topics.topics) == 1)
    return not one_topic or (settings.strategy != "topic" and settings.record is None)


def _sink(sink: SinkDeclaration, registry: RegistryAddress | None, findings: Findings) -> SinkDeclaration:
    settings = sink.settings
    if not isinstance(settings, TopicSinkSettings):
        return sink
    found = _format(settings.format, registry, sink.declared, f"sink {sink.name!r}", findings)
    return replace(sink, settings=replace(settings, format=found))


def _format(
    declared: FormatDeclaration, registry: RegistryAddress | None, around: Located, what: str, findings: Findings
) -> FormatDeclaration:
    settings = declared.settings
    if isinstance(settings, AvroSettings):
        without = registry is None and not any(name in _own(around, declared.kind) for name in ONLY_WITH_REGISTRY)
        if without or settings.registered is None:
            return declared
        settings = settings.registered
    if not isinstance(settings, RegisteredSettings):
        return declared
    if settings.registry is None and registry is None:
        sentence = f"the format {declared.kind!r} of {what} needs a registry: give 'registry' in the format, or for the whole pipeline."
        findings.report(around.place_of("format").error(sentence))
    return replace(declared, settings=replace(settings, registry=settings.registry or registry))


def _own(around: Located, kind: str) -> Collection[str]:
    """The settings inside ``format``, if there are any."""
    format_ = around.value.get("format") if isinstance(around.value, dict) else None
    own = format_.value.get(kind) if format_ is not None and isinstance(format_.value, dict) else None
    return own.value if own is not None and isinstance(own.value, dict) else {}
