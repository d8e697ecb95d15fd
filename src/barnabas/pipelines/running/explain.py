"""Shows what a pipeline would do, without running it: the columns of every view, and Spark's plan
for every sink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.running.runner import prepare
from barnabas.pipelines.session import close_session, open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

Write = Callable[[str], Any]


def explain(
    pipelines: Sequence[PipelineDeclaration], *, write: Write, master: str | None = None, session: SparkSession | None = None
) -> None:
    spark = session or open_session(pipelines, master)
    try:
        for pipeline in pipelines:
            _explain(pipeline, spark, write)
    finally:
        if session is None:
            close_session(spark)


def _explain(pipeline: PipelineDeclaration, session: SparkSession, write: Write) -> None:
    context = prepare(pipeline, session)
    write(f"pipeline {pipeline.name} ({pipeline.path})")
    for source in pipeline.sources:
        write(f"  source {source.name} <- {source.kind}: {_columns(context.frame(source.name))}")
    for step in pipeline.steps:
        write(f"  step {step.view} <- {', '.join(step.inputs)} ({step.kind}): {_columns(context.frame(step.view))}")
    for sink in pipeline.sinks:
        write(f"  sink {sink.name} <- {sink.source} ({sink.kind}, {sink.mode})")
    for sink in pipeline.sinks:
        write(f"\nplan of sink {sink.name}:")
        write(_plan(context.frame(sink.source)))


def _columns(frame: DataFrame) -> str:
    return ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in frame.schema.fields if not each.name.startswith("_"))


def _plan(frame: DataFrame) -> str:
    # A frame from SQL holds the parsed text, in which Spark does not see that it streams; a frame
    # derived from it holds the analysed plan.
    meant = frame.select("*")
    # PySpark's own ``explain`` prints; this is the text it prints.
    java: Any = meant._jdf  # noqa: SLF001
    jvm: Any = meant.sparkSession._jvm  # noqa: SLF001
    return str(jvm.PythonSQLUtils.explainString(java.queryExecution(), "simple")).strip()
