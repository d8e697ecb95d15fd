"""``barnabas sql``: a query over topics, answered once or continuously."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.cluster.client import Bootstrap, ConfigFile, reach
from barnabas.cli.errors import Refused
from barnabas.cli.sql.rows import Format, RowPrinter
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEFAULT_SAMPLE = 1000
# Rows of a table without --limit: all rows must be in memory to compute the width of the columns.
# JSON and CSV have no such limit.
TABLE_ROWS_MAX = 1000
# The exit code of shells for a command that Ctrl-C ended: 128 and the signal's number.
INTERRUPTED = 130

Query = Annotated[str, typer.Argument(metavar="QUERY", help="The query. Topics are its tables; put names with dashes in `backquotes`.")]
Stream = Annotated[bool, typer.Option("--stream", help="Keep answering as new records arrive.")]
FromBeginning = Annotated[bool, typer.Option("--from-beginning", help="With --stream: start with the records that exist already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object for each row.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values with a header line.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many rows.")]
Sample = Annotated[int, typer.Option("--sample", min=1, help="How many records of a topic are read to find its columns.")]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master; default: this machine.")]


def register(app: typer.Typer) -> None:
    app.command("sql")(sql)


def sql(
    query: Query,
    stream: Stream = False,
    from_beginning: FromBeginning = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    limit: Limit = None,
    sample: Sample = DEFAULT_SAMPLE,
    master: Master = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Query topics in SQL. Columns are the fields of JSON values, and _key, _partition, _offset,
    _timestamp and _headers."""
    if as_json and as_csv:
        raise Refused("--json and --csv are two ways to print the same rows: give one of them.")
    if from_beginning and not stream:
        raise Refused("--from-beginning goes with --stream; without --stream, a query reads all records anyway.")
    printer = RowPrinter(Format.JSON if as_json else Format.CSV if as_csv else Format.TABLE)
    from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark
    from barnabas.pipelines.running.stop_signals import ignore_failures_while_stopping, stop_signals
    from barnabas.pipelines.session import check_spark, close_session, open_session
    from barnabas.pipelines.sql.topic_query import PACKAGES, TopicQuery

    try:
        check_spark()
        cluster = reach(bootstrap, config_file)
        stop_asked = threading.Event()
        with ExitStack() as at_end:
            if stream:
                # The signal ends a query that is answered once: half an answer must not look like a
                # whole one.
                at_end.enter_context(stop_signals(stop_asked))
                at_end.enter_context(ignore_failures_while_stopping(stop_asked))
            if stop_asked.is_set():
                return
            session = open_session([], master, packages=PACKAGES)
            at_end.callback(close_session, session)
            if stop_asked.is_set():
                return
            topics = TopicQuery(
                session,
                spark_options=for_spark(cluster.bootstrap, cluster.properties),
                client_config=for_librdkafka(cluster.bootstrap, cluster.properties),
            )
            if stream:
                print_stream(topics.stream(query, sample=sample, from_beginning=from_beginning), printer, limit, stop_asked)
            else:
                print_batch(topics.batch(query, sample=sample), printer, limit)
    except PipelineError as error:
        raise Refused(str(error)) from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def print_batch(frame: DataFrame, printer: RowPrinter, limit: int | None) -> None:
    from barnabas.pipelines.sql.answers import batch_rows

    rows = batch_rows(frame, limit if limit is not None or printer.format is not Format.TABLE else TABLE_ROWS_MAX + 1)
    if printer.format is not Format.TABLE:
        printer.print(frame.columns, rows)
        return
    held = list(rows)
    printer.print(frame.columns, held[: limit or TABLE_ROWS_MAX])
    if limit is None and len(held) > TABLE_ROWS_MAX:
        typer.echo(f"These are the first {TABLE_ROWS_MAX} rows; --limit, --json and --csv print more.", err=True)


def print_stream(frame: DataFrame, printer: RowPrinter, limit: int | None, stop_asked: threading.Event) -> None:
    """Until ``stop_asked``, or until ``limit`` rows are printed."""
    from barnabas.pipelines.sql.answers import StreamedAnswer

    def show(rows: Sequence[Any]) -> None:
        printer.print(frame.columns, rows)
        sys.stdout.flush()

    StreamedAnswer(frame, show, limit, stop_asked).run()
