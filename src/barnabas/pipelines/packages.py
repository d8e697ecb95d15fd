"""Which Maven packages a pipeline needs: those of the kinds it uses and those its file names, and
no others, because each costs time at every start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from barnabas.pipelines.formats import FORMATS
from barnabas.pipelines.kinds import Kinds
from barnabas.pipelines.sinks import SINKS
from barnabas.pipelines.sources import SOURCES

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

SPARK_VERSION = "4.0.0"
DELTA = "io.delta:delta-spark_2.13:4.0.0"
PACKAGES_SETTING = "spark.jars.packages"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0"


def packages_of(pipelines: Iterable[PipelineDeclaration]) -> list[str]:
    """``group:artifact:version``, each once."""
    found: dict[str, None] = {}
    for pipeline in pipelines:
        for source in pipeline.sources:
            found |= dict.fromkeys(_packages(SOURCES, source.kind, source.settings))
            if source.decoding is not None:
                found |= dict.fromkeys(_packages(FORMATS, source.decoding.format.kind, source.decoding.format.settings))
        for sink in pipeline.sinks:
            found |= dict.fromkeys(_packages(SINKS, sink.kind, sink.settings))
            declared: FormatDeclaration | None = getattr(sink.settings, "format", None)
            kind = getattr(declared, "kind", None)
            if declared is not None and kind in FORMATS.names:
                found |= dict.fromkeys(_packages(FORMATS, kind, declared.settings))
        # In addition: a user who adds a file system does not mean to lose the connector.
        found |= dict.fromkeys(listed(pipeline.spark.get(PACKAGES_SETTING, "")))
    return list(found)


def listed(text: str) -> list[str]:
    """The items of a list separated by commas."""
    return [each.strip() for each in text.split(",") if each.strip()]


def _packages(kinds: Kinds[object] | object, kind: str, settings: object) -> list[str]:
    registry = cast(Kinds[object], kinds)
    computed = cast(Callable[[object], Iterable[str]] | None, registry.constant(kind, "packages", None))
    named = computed(settings) if computed is not None else cast(Iterable[str], registry.constant(kind, "PACKAGES", ()))
    return [each.format(spark=SPARK_VERSION) for each in named]
