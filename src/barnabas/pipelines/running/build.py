"""From a declaration to frames: sources, then steps in their order. Nothing runs yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.located import Place
from barnabas.pipelines.declaration.source_declarations import Watermark
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.running.sentences import sentence_of
from barnabas.pipelines.sources import SOURCES
from barnabas.pipelines.steps import STEPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.context import RunContext


def build(context: RunContext) -> None:
    """Fills ``context.frames``. Spark's errors about a source or a step are reported with the line
    of its declaration."""
    for source in context.pipeline.sources:
        with located_errors(source.place, f"source {source.name!r}"):
            frame = SOURCES.of(source.kind).read(context.session, source, context)
            context.add(source.name, _watermarked(frame, source.watermark))
    for step in context.pipeline.steps:
        with located_errors(step.place, f"step {step.view!r}"):
            frame = STEPS.of(step.kind).apply(step, context)
            context.add(step.view, _watermarked(frame, step.watermark))


@contextmanager
def located_errors(place: Place, what: str) -> Iterator[None]:
    """Turns an error inside into one sentence with the place, whether Spark's analyser or a user's
    function raised it."""
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        raise place.error(f"{what}: {sentence_of(error)}") from error


def _watermarked(frame: DataFrame, watermark: Watermark | None) -> DataFrame:
    return frame if watermark is None else frame.withWatermark(watermark.column, watermark.delay)
