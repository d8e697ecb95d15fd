"""Pipelines from their first check to their end.

check topics -> build frames -> start one query per sink -> watch until all ended, one failed, or somebody says stop -> stop the rest.

All or nothing: a query that fails takes its pipeline's others and the other pipelines of the same run with it, because half a pipeline
that looks alive is worse than one that is seen to be down. What was written is safe: every query has its own checkpoint.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from barnabas.pipelines.context import RunContext
from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.running.build import build, located_errors
from barnabas.pipelines.running.preflight import check_topics
from barnabas.pipelines.running.progress import Progress, progress_of
from barnabas.pipelines.running.sentences import sentence_of
from barnabas.pipelines.running.stop_signals import SIGNAL_SECONDS_MAX
from barnabas.pipelines.session import jvm_gone, log_name
from barnabas.pipelines.sinks import SINKS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

# How often queries are asked how they are. Spark keeps the last hundred reports of each, so none is missed in between.
WATCH_SECONDS = 0.2

Observer = Callable[[Progress], None]


@dataclass(slots=True)
class RunningQuery:
    pipeline: str
    part: str
    query: StreamingQuery
    run_id: str  # known from the start: a JVM that has ended cannot be asked
    # The time of the last report that observers know of. Not its batch: a query that waits reports under the number of the batch that
    # comes next, and that one must be told of when it has come.
    reported: str = ""

    def new_progress(self) -> list[Progress]:
        reports = [json.loads(each.json) for each in self.query.recentProgress]
        fresh = [each for each in reports if each["timestamp"] > self.reported]
        if fresh:
            self.reported = fresh[-1]["timestamp"]
        return [progress_of(self.pipeline, self.part, each) for each in fresh]


@dataclass(slots=True)
class Run:
    """Queries that live and die together."""

    queries: list[RunningQuery] = field(default_factory=list)
    stop_asked: threading.Event = field(default_factory=threading.Event)

    def add(self, pipeline: str, part: str, query: StreamingQuery) -> None:
        self.queries.append(RunningQuery(pipeline, part, query, str(query.runId)))

    def wait(self, observers: Sequence[Observer] = (), seconds_max: float | None = None) -> None:
        """Until all ended or ``stop_asked``. ``RunFailed`` when one failed; the others are stopped then."""
        try:
            self._watch(observers, seconds_max)
        except RunFailed:
            # The signal that asks us to stop may have ended Spark's workers as well.
            if not self.stop_asked.wait(SIGNAL_SECONDS_MAX):
                raise
        except jvm_gone() as gone:
            if not self.stop_asked.wait(SIGNAL_SECONDS_MAX):
                raise RunFailed(f"Spark's own process ended; {log_name()} may say why.") from gone

    def _watch(self, observers: Sequence[Observer], seconds_max: float | None) -> None:
        deadline = None if seconds_max is None else time.monotonic() + seconds_max
        while not self.stop_asked.is_set():
            # Asked before the reports are read: the last report of a query that ends in between is not missed.
            active = any(each.query.isActive for each in self.queries)
            self._report(observers)
            self._check()
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

    def _check(self) -> None:
        for each in self.queries:
            wrong = None if each.query.isActive else each.query.exception()
            if wrong is not None:
                raise RunFailed(f"Pipeline {each.pipeline!r} failed at {each.part!r}: {sentence_of(wrong)}") from wrong


def start(
    pipelines: Sequence[PipelineDeclaration],
    session: SparkSession,
    *,
    checkpoint: str | None = None,
    available_now: bool = False,
    run: Run | None = None,
) -> Run:
    """All queries of all pipelines, or none: when one cannot be started, those that were are stopped. ``run`` is for those who want to say
    stop meanwhile."""
    names = [pipeline.name for pipeline in pipelines]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CannotRun(f"Two of the pipelines are called {twice[0]!r}; the checkpoint's folder is called after it.")
    for pipeline in pipelines:
        check_topics(pipeline)
    run = Run() if run is None else run
    with ExitStack() as undo:
        undo.callback(run.stop)
        for pipeline in pipelines:
            if run.stop_asked.is_set():
                break
            _start_pipeline(prepare(pipeline, session, checkpoint=checkpoint, available_now=available_now), run)
        undo.pop_all()
    return run


def prepare(
    pipeline: PipelineDeclaration, session: SparkSession, *, checkpoint: str | None = None, available_now: bool = False
) -> RunContext:
    """Its frames, built but not started. Each pipeline has a session of its own inside Spark's, so that views may have the same names."""
    context = RunContext(session.newSession(), pipeline, checkpoint or pipeline.checkpoint, available_now)
    build(context)
    return context


def _start_pipeline(context: RunContext, run: Run) -> None:
    for prepared in context.before_start:
        prepared()
    for part, begin in context.beside.items():
        run.add(context.name, part, begin())
    for sink in context.pipeline.sinks:
        with located_errors(sink.place, f"sink {sink.name!r}"):
            query = SINKS.of(sink.kind).start(context.frame(sink.source), sink, context)
        run.add(context.name, sink.name, query)
    for undecodable in context.undecodable:
        source = undecodable.source
        if source.decoding is None or source.decoding.dead_letters is None:
            continue
        with located_errors(source.place, f"dead letters of source {source.name!r}"):
            query = import_module("barnabas.pipelines.dead_letters").start(undecodable.frame, source, context)
        run.add(context.name, f"{source.name}.dead_letters", query)
