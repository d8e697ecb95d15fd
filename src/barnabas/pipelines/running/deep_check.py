"""Checks of pipelines that need Spark: SQL, columns, types, keys, and the functions of users.

Each source, step and sink is built as for a run, but no query starts. An error does not end the
check: it is noted with the place of its field, and the parts that read an invalid part are left
out, because their errors would only follow from the first.

The check leaves no trace but Spark's log. Its checkpoint is a folder that is removed at the end;
remembered columns are read from the real checkpoint, and inferred ones stay in memory. A broker or
a database is asked only where a source declares no schema, and then for the sample that the first
start would take.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from barnabas.pipelines.context import RunContext
from barnabas.pipelines.declaration.located import Place
from barnabas.pipelines.declaration.pipeline_declaration import Trigger
from barnabas.pipelines.errors import DeclarationError, PipelineError
from barnabas.pipelines.running.preflight import ClusterTopics
from barnabas.pipelines.running.sentences import sentence_of
from barnabas.pipelines.schema_changes.remembered import RememberedSchema
from barnabas.pipelines.sinks import SINKS, Check
from barnabas.pipelines.sources import SOURCES
from barnabas.pipelines.steps import STEPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration, Watermark
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration

# Formats whose columns come from a sample of the topic when none are declared.
_INFERRED_FORMATS = frozenset({"json", "csv"})


@dataclass(slots=True)
class DeepCheck:
    """The result for one pipeline."""

    mistakes: list[DeclarationError] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)  # parts that read an invalid one


def check_deeply(pipelines: Sequence[PipelineDeclaration], session: SparkSession) -> list[DeepCheck]:
    """In the order of the pipelines, each in a session of its own inside Spark's."""
    with tempfile.TemporaryDirectory(prefix="barnabas-check-") as folder:
        return [_Checker(pipeline, session, f"{folder}/{position}").run() for position, pipeline in enumerate(pipelines)]


class _Checker:
    def __init__(self, pipeline: PipelineDeclaration, session: SparkSession, folder: str) -> None:
        # With available_now a source may read all of its rows when it is built.
        self._pipeline = replace(pipeline, trigger=Trigger())
        self._context = RunContext(session.newSession(), self._pipeline, folder, trial_of=pipeline.checkpoint)
        self._result = DeepCheck()
        self._topics: set[str] | None = None

    def run(self) -> DeepCheck:
        settings = self._context.session.conf
        for name, value in self._pipeline.spark.items():
            # The other pipelines of the session may set the same name to another value.
            if name.startswith("spark.sql.") and settings.isModifiable(name):
                settings.set(name, value)
        for source in self._pipeline.sources:
            self._check_source(source)
        for step in self._pipeline.steps:
            self._check_step(step)
        for sink in self._pipeline.sinks:
            self._check_sink(sink)
        self._result.mistakes.sort(key=lambda each: (each.line, each.column or 0))
        return self._result

    def _check_source(self, source: SourceDeclaration) -> None:
        place_of, what, context = source.declared.place_of, f"source {source.name!r}", self._context
        schema = getattr(source.settings, "schema", None) if source.decoding is None else source.decoding.format.schema
        valid = True
        if schema is not None:
            with self._noting(place_of("schema"), what) as noted:
                _data_type(context, schema, is_table=True)
            valid = not noted
        if source.decoding is not None and source.decoding.key is not None:
            with self._noting(place_of("key"), what) as noted:
                _data_type(context, source.decoding.key.type)
            valid = valid and not noted
        if not valid or not self._can_infer(source):
            return
        with self._noting(source.place, what):
            frame = SOURCES.of(source.kind).read(context.session, source, context)
            self._add(source.name, frame, source.watermark, place_of("watermark"), what)

    def _can_infer(self, source: SourceDeclaration) -> bool:
        """Whether the columns of a topic are declared, remembered, or there to be sampled. Spark
        would ask an unreachable cluster for minutes."""
        topics = cast(Callable[[object], Iterable[str]] | None, SOURCES.constant(source.kind, "topics", None))
        decoding = source.decoding
        if topics is None or decoding is None or decoding.format.schema is not None or decoding.format.kind not in _INFERRED_FORMATS:
            return True
        with self._noting(source.place, f"source {source.name!r}") as noted:
            if RememberedSchema(source, self._context).read() is None:
                for name in topics(source.settings):
                    if name not in self._existing_topics():
                        sentence = "so its columns cannot be inferred; declare its 'schema'."
                        raise source.place.error(f"source {source.name!r}: there is no topic {name!r}, {sentence}")
        return not noted

    def _existing_topics(self) -> set[str]:
        if self._topics is None:
            with ClusterTopics(self._pipeline) as cluster:
                self._topics = cluster.names()
        return self._topics

    def _check_step(self, step: StepDeclaration) -> None:
        what = f"step {step.view!r}"
        place = step.declared.place_of(step.kind)
        with self._noting(place, what):
            if all(each in self._context.frames for each in step.inputs):
                frame = STEPS.of(step.kind).apply(step, self._context)
                self._add(step.view, frame, step.watermark, step.declared.place_of("watermark"), what)
                return
            self._result.unchecked.append(what)
            alone = cast("Callable[[StepDeclaration, RunContext], None] | None", STEPS.constant(step.kind, "check_alone", None))
            if alone is not None:
                alone(step, self._context)

    def _check_sink(self, sink: SinkDeclaration) -> None:
        what = f"sink {sink.name!r}"
        frame = self._context.frames.get(sink.source)
        if frame is None:
            self._result.unchecked.append(what)
            return
        checks = cast("Callable[[DataFrame, SinkDeclaration], Iterable[Check]] | None", SINKS.constant(sink.kind, "checks", None))
        for path, check in () if checks is None else checks(frame, sink):
            with self._noting(sink.declared.place_of(*path), what):
                check()
        with self._noting(sink.declared.place_of("mode"), what):
            _check_streaming(frame, sink)

    def _add(self, name: str, frame: DataFrame, watermark: Watermark | None, place: Place, what: str) -> None:
        if watermark is None:
            self._context.add(name, frame)
            return
        with self._noting(place, what):
            self._context.add(name, frame.withWatermark(watermark.column, watermark.delay))

    @contextmanager
    def _noting(self, place: Place, what: str) -> Iterator[list[DeclarationError]]:
        """Turns an error inside into a mistake at that place. The yielded list has it
        afterwards."""
        noted: list[DeclarationError] = []
        try:
            yield noted
        except DeclarationError as error:
            noted.extend(error.all)
        except PipelineError as error:
            noted.append(place.error(f"{what}: {error}"))
        except Exception as error:  # noqa: BLE001 - the analyser and functions of users raise anything
            noted.append(place.error(f"{what}: {_words(error)}"))
        self._result.mistakes += noted


def _words(error: Exception) -> str:
    if type(error).__module__.partition(".")[0] in ("pyspark", "py4j"):
        return sentence_of(error)
    # Of a user's function: the text of a KeyError alone says nothing.
    return f"{type(error).__name__}: {sentence_of(error)}"


def _data_type(context: RunContext, text: str, *, is_table: bool = False) -> None:
    parser: Any = context.session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - PySpark has no parser of its own
    if is_table:
        parser.parseTableSchema(text)
    else:
        parser.parseDataType(text)


def _check_streaming(frame: DataFrame, sink: SinkDeclaration) -> None:
    # A frame from SQL holds the parsed text, in which Spark does not see that it streams; a frame
    # derived from it holds the analysed plan.
    meant = frame.select("*")
    if not meant.isStreaming:
        raise sink.source_place.error(
            f"sink {sink.name!r} reads {sink.source!r}, which is no stream but a table; a table can only be joined with a stream."
        )
    jvm: Any = meant.sparkSession._jvm  # noqa: SLF001 - PySpark runs this check only when it starts a query
    plan: Any = meant._jdf.queryExecution().analyzed()  # noqa: SLF001
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, sink.mode.capitalize())()
    jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(plan, mode)
