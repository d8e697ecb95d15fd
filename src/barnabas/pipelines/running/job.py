"""A run as a process: files in, a clean exit out. The command, ``python -m barnabas.pipelines`` and
spark-submit all end up here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.running.heartbeat import HeartbeatWriter, heartbeats
from barnabas.pipelines.running.metrics_page import ServedMetrics, served_metrics
from barnabas.pipelines.running.preflight import check_topics
from barnabas.pipelines.running.runner import Run, start
from barnabas.pipelines.running.stop_signals import ignore_failures_while_stopping, stop_signals
from barnabas.pipelines.running.watching import watching
from barnabas.pipelines.session import check_spark, close_session, open_session

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import MetricsAddress, PipelineDeclaration


def run_files(
    files: Sequence[str],
    *,
    master: str | None = None,
    available_now: bool = False,
    checkpoint: str | None = None,
    metrics: MetricsAddress | None = None,
    client_file: str | None = None,
) -> None:
    """``metrics`` takes precedence over the addresses in the files, and ``client_file`` over their
    settings of Kafka's clients.

    Raises ``PipelineError`` with one sentence when a file is invalid, Spark cannot start, or a
    query failed."""
    pipelines = [read_pipeline(path, client_file=client_file) for path in files]
    run_declarations(pipelines, master=master, available_now=available_now, checkpoint=checkpoint, metrics=metrics)


def run_declarations(
    pipelines: Sequence[PipelineDeclaration],
    *,
    master: str | None = None,
    available_now: bool = False,
    checkpoint: str | None = None,
    metrics: MetricsAddress | None = None,
) -> None:
    check_spark()
    run = Run()
    with ExitStack() as stack:
        stack.enter_context(stop_signals(run.stop_asked))
        heart = stack.enter_context(heartbeats(pipelines, checkpoint))
        stack.enter_context(ignore_failures_while_stopping(run.stop_asked))
        served = stack.enter_context(served_metrics(pipelines, metrics))
        for url in served.urls:
            sys.stderr.write(f"barnabas: metrics for Prometheus are at {url}.\n")
        for pipeline in pipelines:
            # Spark takes seconds to start; find a missing topic before that.
            check_topics(pipeline)
            _warn_of_at_least_once(pipeline)
        if not run.stop_asked.is_set():
            _run(pipelines, run, heart, served, master=master, available_now=available_now, checkpoint=checkpoint)


def _run(
    pipelines: Sequence[PipelineDeclaration],
    run: Run,
    heart: HeartbeatWriter,
    served: ServedMetrics,
    *,
    master: str | None,
    available_now: bool,
    checkpoint: str | None,
) -> None:
    with ExitStack() as at_end:
        session = open_session(pipelines, master)
        at_end.callback(close_session, session)
        start(pipelines, session, checkpoint=checkpoint, available_now=available_now, run=run)
        at_end.callback(run.stop)
        heart.running()
        served.running(run)
        observers = at_end.enter_context(watching(pipelines, run))
        run.wait([*served.observers, *observers])


def _warn_of_at_least_once(pipeline: PipelineDeclaration) -> None:
    for sink in pipeline.sinks:
        if getattr(sink.settings, "guarantee", None) == "at_least_once":
            promise = "writes at least once: after a failure, rows of its last batch may be there twice"
            sys.stderr.write(f"barnabas: sink {sink.name!r} of {pipeline.name!r} {promise}.\n")
    for source in pipeline.sources:
        letters = None if source.decoding is None else source.decoding.dead_letters
        if letters is not None and letters.guarantee == "at_least_once":
            promise = "are written at least once: after a failure, those of the last batch may be there twice"
            sys.stderr.write(f"barnabas: dead letters of source {source.name!r} of {pipeline.name!r} {promise}.\n")
