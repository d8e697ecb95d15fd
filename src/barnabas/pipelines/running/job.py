"""A run as a process: files in, an exit in order out. The command, ``python -m barnabas.pipelines`` and spark-submit all end up here."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.running.preflight import check_topics
from barnabas.pipelines.running.runner import Run, start
from barnabas.pipelines.running.watching import watching
from barnabas.pipelines.session import check_spark, jvm_gone, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration


def run_files(files: Sequence[str], *, master: str | None = None, available_now: bool = False, checkpoint: str | None = None) -> None:
    """``PipelineError`` in one sentence when a file is wrong, Spark cannot start, or a query failed."""
    run_declarations([read_pipeline(path) for path in files], master=master, available_now=available_now, checkpoint=checkpoint)


def run_declarations(
    pipelines: Sequence[PipelineDeclaration], *, master: str | None = None, available_now: bool = False, checkpoint: str | None = None
) -> None:
    check_spark()
    for pipeline in pipelines:
        # Spark takes seconds to start; a topic that is missing is known before.
        check_topics(pipeline)
        _say_what_is_promised(pipeline)
    run = Run()
    with ExitStack() as at_end:
        at_end.enter_context(_stopped_by_signals(run))
        session = open_session(pipelines, master)
        at_end.callback(_stop, session)
        # Again: PySpark has put a handler of its own in their place.
        at_end.enter_context(_stopped_by_signals(run))
        start(pipelines, session, checkpoint=checkpoint, available_now=available_now, run=run)
        at_end.callback(run.stop)
        observers = at_end.enter_context(watching(pipelines, run))
        run.wait(observers)


def _stop(session: SparkSession) -> None:
    with suppress(*jvm_gone()):
        session.stop()


def _say_what_is_promised(pipeline: PipelineDeclaration) -> None:
    for sink in pipeline.sinks:
        if getattr(sink.settings, "guarantee", None) == "at_least_once":
            promise = "writes at least once: after a failure, rows of its last batch may be there twice"
            sys.stderr.write(f"barnabas: sink {sink.name!r} of {pipeline.name!r} {promise}.\n")
    for source in pipeline.sources:
        letters = None if source.decoding is None else source.decoding.dead_letters
        if letters is not None and letters.guarantee == "at_least_once":
            promise = "are written at least once: after a failure, those of the last batch may be there twice"
            sys.stderr.write(f"barnabas: dead letters of source {source.name!r} of {pipeline.name!r} {promise}.\n")


@contextmanager
def _stopped_by_signals(run: Run) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM asks for an end in order; a second one is as rude as it was meant."""

    def ask(number: int, _: object) -> None:
        run.stop_asked.set()
        signal.signal(number, signal.SIG_DFL)

    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may have handlers; whoever runs a pipeline in another one stops it in another way.
        yield
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
