"""Answers statements one after another, and prints the answers.

Spark starts with the first query that needs it and then stays. How long an answer took and which
engine gave it is shown on stderr, if the user asked for it.
"""

from __future__ import annotations

import signal
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from barnabas.cli.cluster.client import Cluster
from barnabas.cli.sql.rows import Format, RowPrinter
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark
from barnabas.pipelines.sql.answering import Answer, EngineChoice, TopicSql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.sql.shapes import TopicShapes
    from barnabas.pipelines.sql.topic_query import TopicQuery

# Rows of a table without --limit: all rows must be in memory to compute the width of the columns.
# JSON and CSV have no such limit.
TABLE_ROWS_MAX = 1000


class SqlSession:
    def __init__(
        self,
        cluster: Cluster,
        shapes: TopicShapes,
        *,
        engine: EngineChoice,
        sample: int,
        master: str | None,
        limit: int | None,
        verbose: bool,
    ) -> None:
        self._cluster = cluster
        self._shapes = shapes
        self._sample = sample
        self._master = master
        self._limit = limit
        self._session: SparkSession | None = None
        self._query: TopicQuery | None = None
        self.verbose = verbose
        self.topic_sql = self.another(engine)

    def another(self, engine: EngineChoice) -> TopicSql:
        """A reader of the same cluster, with a client of its own."""
        client = for_librdkafka(self._cluster.bootstrap, self._cluster.properties)
        return TopicSql(client, self.spark, engine=engine, sample=self._sample, shapes=self._shapes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.topic_sql.close()
        self.close_spark()

    def close_spark(self) -> None:
        if self._session is not None:
            from barnabas.pipelines.session import close_session

            close_session(self._session)
            self._session = self._query = None

    def spark(self) -> TopicQuery:
        if self._query is None:
            from barnabas.pipelines.session import check_spark, open_session
            from barnabas.pipelines.sql.topic_query import PACKAGES, TopicQuery

            check_spark()
            if sys.stderr.isatty():
                typer.echo("Spark starts; this takes some seconds.", err=True)
            ctrl_c = signal.getsignal(signal.SIGINT)
            self._session = open_session([], self._master, packages=PACKAGES)
            # PySpark's own handler calls the JVM in the middle of another call.
            signal.signal(signal.SIGINT, ctrl_c)
            self._query = TopicQuery(
                self._session,
                spark_options=for_spark(self._cluster.bootstrap, self._cluster.properties),
                client_config=for_librdkafka(self._cluster.bootstrap, self._cluster.properties),
                shapes=self._shapes,
            )
        return self._query

    def run(self, statement: str, printer: RowPrinter) -> None:
        started = time.monotonic()
        is_table = printer.format is Format.TABLE
        answer = self.topic_sql.answer(statement, TABLE_ROWS_MAX + 1 if is_table and self._limit is None else self._limit)
        shown = _print(answer, printer, self._limit)
        if self.verbose:
            sys.stdout.flush()
            typer.echo(f"{footer(answer, shown)} {time.monotonic() - started:.2f} s.", err=True)

    def print_topics(self, printer: RowPrinter) -> None:
        rows = [(name, partitions) for name, partitions in sorted(self.topic_sql.topics().items()) if not name.startswith("__")]
        printer.print(["topic", "partitions"], rows)


def _print(answer: Answer, printer: RowPrinter, limit: int | None) -> int:
    if printer.format is not Format.TABLE:
        return printer.print(answer.columns, answer.rows, answer.types)
    held = list(answer.rows)
    shown = printer.print(answer.columns, held[: limit or TABLE_ROWS_MAX])
    if limit is None and len(held) > TABLE_ROWS_MAX:
        typer.echo(f"These are the first {TABLE_ROWS_MAX} rows; --limit, --json and --csv print more.", err=True)
    return shown


def footer(answer: Answer, shown: int) -> str:
    """``3 rows, by the embedded engine from 1,204 records.``"""
    engine = "Spark" if answer.engine is EngineChoice.SPARK else "the embedded engine"
    read = "" if answer.records is None else f" from {counted(answer.records, 'record')}"
    reason = f" ({answer.reason})" if answer.reason else ""
    return f"{counted(shown, 'row')}, by {engine}{read}{reason}."


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
