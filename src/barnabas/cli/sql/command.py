"""``barnabas sql``: a query over topics, answered once or continuously, or a shell."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer
from confluent_kafka import KafkaException

from barnabas.cli.cluster.client import Bootstrap, ConfigFile, error_of, phrase, reach
from barnabas.cli.cluster.registry_of_cluster import registry_settings
from barnabas.cli.errors import Refused
from barnabas.cli.sql.rows import Format, RowPrinter
from barnabas.pipelines.column_types import spark_name
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sql.answering import EngineChoice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.cli.sql.sql_session import SqlSession

DEFAULT_SAMPLE = 1000
# The exit code of shells for a command that Ctrl-C ended: 128 and the signal's number.
INTERRUPTED = 130

Query = Annotated[
    str | None,
    typer.Argument(metavar="QUERY", help="The query. Topics are its tables; put names with dashes in `backquotes`. None: a shell."),
]
Stream = Annotated[bool, typer.Option("--stream", help="Keep answering as new records arrive.")]
FromBeginning = Annotated[bool, typer.Option("--from-beginning", help="With --stream: start with the records that exist already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object for each row.")]
AsLines = Annotated[
    bool,
    typer.Option("--json-rows", help="Print the columns with their types as a JSON object, then a JSON array for each row."),
]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values with a header line.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many rows.")]
Sample = Annotated[int, typer.Option("--sample", min=1, help="How many records of a topic are read to find its columns.")]
Engine = Annotated[
    EngineChoice, typer.Option("--engine", help="The engine: embedded is fast for few records, spark knows all of SQL; auto chooses.")
]
Registry = Annotated[
    str | None,
    typer.Option("--registry", envvar="BARNABAS_REGISTRY", metavar="URL", help="A schema registry, for topics whose schemas it has."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Say on stderr which engine answered, and how long it took.")]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master; default: this machine.")]


def register(app: typer.Typer) -> None:
    app.command("sql")(sql)


def sql(
    query: Query = None,
    stream: Stream = False,
    from_beginning: FromBeginning = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_rows: AsLines = False,
    limit: Limit = None,
    sample: Sample = DEFAULT_SAMPLE,
    engine: Engine = EngineChoice.AUTO,
    verbose: Verbose = False,
    master: Master = None,
    registry: Registry = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Query topics in SQL. Columns are the fields of JSON values or of the schema in a registry,
    and _key, _partition, _offset, _timestamp and _headers. Without a query, a shell; from a pipe,
    statements that end with semicolons."""
    if as_json + as_csv + as_rows > 1:
        raise Refused("--json, --json-rows and --csv are ways to print the same rows: give one of them.")
    if from_beginning and not stream:
        raise Refused("--from-beginning goes with --stream; without --stream, a query reads all records anyway.")
    if stream and query is None:
        raise Refused("--stream needs a query.")
    if find_spec("duckdb") is None and find_spec("pyspark") is None:
        raise Refused(
            "SQL needs an engine, and none is installed: pip install 'barnabas[sql]' for quick queries, 'barnabas[spark]' for all of SQL."
        )
    output = Format.JSON if as_json else Format.CSV if as_csv else Format.ROWS if as_rows else Format.TABLE
    from barnabas.cli.sql.sql_session import SqlSession
    from barnabas.pipelines.sql.shapes import TopicShapes

    try:
        cluster = reach(bootstrap, config_file)
        shapes = TopicShapes(registry_settings(registry, cluster.registry))
        with SqlSession(cluster, shapes, engine=engine, sample=sample, master=master, limit=limit, verbose=verbose) as session:
            if query is None:
                take_statements(session, output)
            elif stream and engine is EngineChoice.EMBEDDED:
                stream_embedded(session, query, RowPrinter(output), limit, from_beginning=from_beginning)
            elif stream:
                session.topic_sql.check(query)
                stream_answer(session, query, RowPrinter(output), limit, sample=sample, from_beginning=from_beginning)
            else:
                session.run(query, RowPrinter(output))
    except PipelineError as error:
        raise Refused(str(error)) from error
    except KafkaException as error:
        raise Refused(f"The cluster refuses: {phrase(error_of(error))}.") from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def take_statements(session: SqlSession, output: Format) -> None:
    from barnabas.cli.sql.shell import interact, run_piped

    if sys.stdin.isatty():
        interact(session, output)
    elif not run_piped(session, sys.stdin, output):
        raise typer.Exit(1)


def stream_answer(session: SqlSession, query: str, printer: RowPrinter, limit: int | None, *, sample: int, from_beginning: bool) -> None:
    """Until a signal, or until ``limit`` rows are printed."""
    from barnabas.pipelines.running.stop_signals import ignore_failures_while_stopping, stop_signals

    stop_asked = threading.Event()
    # Without --stream the signal ends the process: half an answer must not look like a whole one.
    with ExitStack() as at_end:
        at_end.enter_context(stop_signals(stop_asked))
        at_end.enter_context(ignore_failures_while_stopping(stop_asked))
        at_end.callback(session.close_spark)
        topics = session.spark()
        if not stop_asked.is_set():
            print_stream(topics.stream(query, sample=sample, from_beginning=from_beginning), printer, limit, stop_asked)


def stream_embedded(session: SqlSession, query: str, printer: RowPrinter, limit: int | None, *, from_beginning: bool) -> None:
    """As :func:`stream_answer`, without Spark."""
    from barnabas.pipelines.running.stop_signals import stop_signals
    from barnabas.pipelines.sql.embedded.streaming import STEP_SECONDS, changed_rows

    stop_asked = threading.Event()
    with stop_signals(stop_asked):
        stream = session.topic_sql.stream(query, from_beginning=from_beginning)
        before: list[Any] = []
        printed = 0
        while not stop_asked.is_set():
            step = stream.step()
            if step is not None:
                # Programs get the whole answer again; people read which rows are new.
                rows = changed_rows(before, step.rows) if step.is_whole and printer.format is not Format.ROWS else step.rows
                before = step.rows if step.is_whole else before
                rows = rows if limit is None else rows[: limit - printed]
                if rows or printer.format is Format.ROWS:
                    names, types = [name for name, _ in step.columns], [spark_name(kind) for _, kind in step.columns]
                    printed += printer.print(names, rows, types, is_whole=step.is_whole)
                    sys.stdout.flush()
                if limit is not None and printed >= limit:
                    return
            stop_asked.wait(STEP_SECONDS)


def print_stream(frame: DataFrame, printer: RowPrinter, limit: int | None, stop_asked: threading.Event) -> None:
    from barnabas.pipelines.sql.answers import StreamedAnswer

    def show(rows: Sequence[Any]) -> None:
        printer.print(frame.columns, rows)
        sys.stdout.flush()

    StreamedAnswer(frame, show, limit, stop_asked).run()
