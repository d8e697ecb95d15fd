"""Pipelines from their first check to their end.

check topics -> build frames -> start one query per sink -> watch until all ended, one failed, or a
stop is requested -> stop the rest.

A source whose new columns were accepted (``schema_changes: accept``) makes the whole run start
again with them: frames keep their columns from start to end.

All or nothing: a query that fails stops the other queries of its pipeline and the other pipelines
of the run, because half a pipeline that looks alive is worse than one that is visibly down. Written
data is safe: every query has its own checkpoint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.context import RunContext
from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.running.build import build, located_errors
from barnabas.pipelines.running.preflight import check_topics
from barnabas.pipelines.running.progress import Progress, progress_of
from barnabas.pipelines.running.sentences import sentence_of
from barnabas.pipelines.running.spark_reports import new_reports
from barnabas.pipelines.running.stop_signals import SIGNAL_SECONDS_MAX
from barnabas.pipelines.schema_changes.acceptance import take_over
from barnabas.pipelines.schema_changes.endings import SchemaEnding, ending_of
from barnabas.pipelines.schema_changes.remembered import announce_unknown_fields
from barnabas.pipelines.session import jvm_gone, log_name
from barnabas.pipelines.sinks import SINKS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

# How often queries are polled. Spark keeps the last hundred reports of each, so none is missed in
# between.
WATCH_SECONDS = 0.2

Observer = Callable[[Progress], None]


@dataclass(slots=True)
class RunningQuery:
    pipeline: str
    part: str
    query: StreamingQuery
    run_id: str  # saved at the start: a JVM that has ended cannot be asked
    # The time of the last report that observers got. Not its batch: a waiting query reports under
    # the number of the next batch, and the report of that batch must still be passed on when it
    # comes.
    reported: str = ""
    # Called with the metrics that a report has beside Spark's own.
    observed: Callable[[Mapping[str, Any]], None] = lambda _: None
    # By batch: rows that the sink has written, where Spark does not count them.
    rows_written: dict[int, int] = field(default_factory=dict)

    def new_progress(self) -> list[Progress]:
        fresh = new_reports(self.query, self.reported)
        for report in fresh:
            self.observed(report.get("observedMetrics") or {})
        if fresh:
            self.reported = fresh[-1]["timestamp"]
        return [self._counted(progress_of(self.pipeline, self.part, each)) for each in fresh]

    def _counted(self, progress: Progress) -> Progress:
        rows = self.rows_written.pop(progress.batch, None) if progress.executed else None
        return progress if rows is None or progress.output_rows is not None else replace(progress, output_rows=rows)


@dataclass(slots=True)
class Run:
    """Queries that start and stop together."""

    queries: list[RunningQuery] = field(default_factory=list)
    stop_asked: threading.Event = field(default_factory=threading.Event)
    # Called with a pipeline and the error of one of its queries: True when all queries were started
    # again, with the new columns of a source.
    restarted: Callable[[str, BaseException], bool] = lambda _, __: False
    # Called after such a restart.
    on_restart: list[Callable[[], None]] = field(default_factory=list)

    def add(
        self,
        pipeline: str,
        part: str,
        query: StreamingQuery,
        observed: Callable[[Mapping[str, Any]], None] = lambda _: None,
        rows_written: dict[int, int] | None = None,
    ) -> None:
        written = {} if rows_written is None else rows_written
        self.queries.append(RunningQuery(pipeline, part, query, str(query.runId), observed=observed, rows_written=written))

    def wait(self, observers: Sequence[Observer] = (), seconds_max: float | None = None) -> None:
        """Waits until all ended or ``stop_asked``. Raises ``RunFailed`` when one failed; the others
        are stopped then."""
        try:
            self._watch(observers, seconds_max)
        except RunFailed:
            # The signal that requests the stop may have ended Spark's workers as well.
            if not self.stop_asked.wait(SIGNAL_SECONDS_MAX):
                raise
        except jvm_gone() as gone:
            if not self.stop_asked.wait(SIGNAL_SECONDS_MAX):
                raise RunFailed(f"Spark's process ended; {log_name()} may have the reason.") from gone

    def _watch(self, observers: Sequence[Observer], seconds_max: float | None) -> None:
        deadline = None if seconds_max is None else time.monotonic() + seconds_max
        while not self.stop_asked.is_set():
            # Checked before the reports are read: so the last report of a query that ends in
            # between is not missed.
            active = any(each.query.isActive for each in self.queries)
            self._report(observers)
            if self._check():
                continue
            if not active or (deadline is not None and time.monotonic() > deadline):
                return
            self.stop_asked.wait(WATCH_SECONDS)

    def stop(self) -> None:
        with suppress(*jvm_gone()):
            for each in self.queries:
                if each.query.isActive:
                    each.query.stop()

    def _report(self, observers: Iterable[Observer]) -> None:
        for each in self.queries:
            for progress in each.new_progress():
                for observer in observers:
                    observer(progress)

    def _check(self) -> bool:
        """True when one ended and all were started again."""
        for each in self.queries:
            error = None if each.query.isActive else each.query.exception()
            if error is not None:
                if self.restarted(each.pipeline, error):
                    return True
                raise RunFailed(f"Pipeline {each.pipeline!r} failed at {each.part!r}: {sentence_of(error)}") from error
        return False


def start(
    pipelines: Sequence[PipelineDeclaration],
    session: SparkSession,
    *,
    checkpoint: str | None = None,
    available_now: bool = False,
    run: Run | None = None,
) -> Run:
    """Starts all queries of all pipelines, or none: if one cannot be started, the others are
    stopped. ``run`` lets the caller request a stop meanwhile."""
    names = [pipeline.name for pipeline in pipelines]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CannotRun(f"Two of the pipelines are called {twice[0]!r}; the checkpoint's folder is named after it.")
    for pipeline in pipelines:
        check_topics(pipeline)
    run = Run() if run is None else run
    beginning = _Beginning(pipelines, session, checkpoint, available_now, run)
    run.restarted = beginning.restart
    beginning.begin()
    return run


@dataclass(frozen=True, slots=True)
class _Beginning:
    pipelines: Sequence[PipelineDeclaration]
    session: SparkSession
    checkpoint: str | None
    available_now: bool
    run: Run

    def begin(self) -> None:
        with ExitStack() as undo:
            undo.callback(self.run.stop)
            for pipeline in self.pipelines:
                if self.run.stop_asked.is_set():
                    break
                context = prepare(pipeline, self.session, checkpoint=self.checkpoint, available_now=self.available_now)
                _start_pipeline(context, self.run)
            undo.pop_all()

    def restart(self, name: str, error: BaseException) -> bool:
        """Raises ``SchemaChanged`` when the query ended because of a source's columns, and the
        change is not accepted."""
        pipeline = next(each for each in self.pipelines if each.name == name)
        ending = ending_of(error, pipeline)
        if ending is None:
            return False
        # Each round remembers other columns than before, so this terminates.
        if not ending.taken_over and not self._accepted_columns(pipeline, ending):
            raise ending.error from error
        self.run.stop()
        self.run.queries.clear()
        self.begin()
        for told in self.run.on_restart:
            told()
        return True

    def _accepted_columns(self, pipeline: PipelineDeclaration, ending: SchemaEnding) -> bool:
        if ending.source is None or ending.source.schema_changes != "accept":
            return False
        context = context_of(pipeline, self.session, checkpoint=self.checkpoint)
        return bool(take_over(ending.source, context))


def prepare(
    pipeline: PipelineDeclaration, session: SparkSession, *, checkpoint: str | None = None, available_now: bool = False
) -> RunContext:
    """The frames of a pipeline, built but not started. Each pipeline has a session of its own
    inside Spark's, so that views may have the same names."""
    context = context_of(pipeline, session, checkpoint=checkpoint, available_now=available_now)
    build(context)
    return context


def context_of(
    pipeline: PipelineDeclaration, session: SparkSession, *, checkpoint: str | None = None, available_now: bool = False
) -> RunContext:
    return RunContext(session.newSession(), pipeline, checkpoint or pipeline.checkpoint, available_now)


def _start_pipeline(context: RunContext, run: Run) -> None:
    for prepared in context.before_start:
        prepared()
    for part, begin in context.beside.items():
        run.add(context.name, part, begin())
    observed = partial(announce_unknown_fields, context)
    for sink in context.pipeline.sinks:
        with located_errors(sink.place, f"sink {sink.name!r}"):
            query = SINKS.of(sink.kind).start(context.frame(sink.source), sink, context)
        run.add(context.name, sink.name, query, observed, context.counts_rows(sink.name))
    for undecodable in context.undecodable:
        source = undecodable.source
        if source.decoding is None or source.decoding.dead_letters is None:
            continue
        with located_errors(source.place, f"dead letters of source {source.name!r}"):
            query = import_module("barnabas.pipelines.dead_letters").start(undecodable.frame, source, context)
        run.add(context.name, f"{source.name}.dead_letters", query, rows_written=context.counts_rows(f"{source.name}.dead_letters"))
