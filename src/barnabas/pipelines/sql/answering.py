"""Answers statements: checks them, and gives each to the engine that fits.

    syntax and topics        checked in this process, before an engine starts
    DESCRIBE                 answered from the sample
    auto                     embedded, if the query is in its proven part and its records are few
                             enough; otherwise Spark
    embedded, spark          that engine, or a sentence that says why not

A query that the embedded engine cannot finish begins again in Spark, at the same offsets or later
ones; no row of the first attempt is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.column_types import spark_name
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.sql.answers import batch_rows
from barnabas.pipelines.sql.embedded.engine import check_installed, is_installed
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.inference import TableShape
from barnabas.pipelines.sql.shapes import TopicShapes
from barnabas.pipelines.sql.spark_thread import SparkThread
from barnabas.pipelines.sql.syntax import Statement, SyntaxErrorInQuery, can_parse, check_topics, read_statement
from barnabas.pipelines.sql.topic_offsets import Bounds, TopicOffsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.sql.embedded.streaming import EmbeddedStream
    from barnabas.pipelines.sql.topic_query import TopicQuery


class EngineChoice(StrEnum):
    AUTO = "auto"
    EMBEDDED = "embedded"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Answer:
    columns: list[str]
    types: list[str]  # with Spark's names
    rows: Iterable[tuple[Any, ...]]
    engine: EngineChoice
    records: int | None = None  # that the embedded engine read
    reason: str = ""  # why auto chose Spark


class TopicSql:
    """The statements of one user, one after another. ``spark`` starts Spark at its first call."""

    def __init__(
        self,
        client_config: Mapping[str, Any],
        spark: Callable[[], TopicQuery],
        *,
        engine: EngineChoice,
        sample: int,
        shapes: TopicShapes | None = None,
    ) -> None:
        self._shapes = TopicShapes() if shapes is None else shapes
        self._offsets = TopicOffsets(client_config)
        self._spark = spark
        self.engine = engine
        self._sample = sample
        self._thread = SparkThread()

    def close(self) -> None:
        self._offsets.close()
        self._thread.close()

    def topics(self) -> dict[str, int]:
        """Names, and numbers of partitions."""
        return self._offsets.topics()

    def shape(self, topic: str, partitions: int) -> TableShape:
        return self._shape(topic, self._offsets.bounds(topic, partitions))

    def check(self, text: str) -> Statement | None:
        """The statement, after a check of its syntax and its topics. None: Spark must judge."""
        if not can_parse():
            return None
        try:
            statement = read_statement(text)
        except SyntaxErrorInQuery:
            if self.engine is EngineChoice.SPARK:
                return None
            raise
        check_topics(statement, self._offsets.topics())
        return statement

    def answer(self, text: str, limit: int | None) -> Answer:
        """At most ``limit`` rows."""
        statement = self.check(text)
        if self.engine is EngineChoice.EMBEDDED:
            check_installed()
        reason = "DuckDB is not installed"
        if self.engine is not EngineChoice.SPARK and statement is not None:
            try:
                return self._without_spark(statement, limit)
            except NotProven as error:
                reason = str(error)
                if self.engine is EngineChoice.EMBEDDED:
                    raise CannotRun(f"The embedded engine cannot answer this query ({reason}); --engine spark can.") from error
        why = "" if self.engine is EngineChoice.SPARK else reason
        topics = self._spark_or_reason(why)

        def run(work: Callable[[], Any]) -> Any:
            return self._thread.run(work, topics.cancel)

        frame: DataFrame = run(lambda: topics.batch(text, sample=self._sample))
        kinds: list[str] = run(lambda: [each.dataType.simpleString() for each in frame.schema.fields])
        return Answer(frame.columns, kinds, batch_rows(frame, limit, run), EngineChoice.SPARK, reason=why)

    def stream(self, text: str, *, from_beginning: bool) -> EmbeddedStream:
        """A query that the embedded engine goes on answering, from now or from the beginning."""
        check_installed()
        statement = self.check(text)
        if statement is None or not statement.topics:
            raise CannotRun("--stream needs a query that reads a topic.")
        from barnabas.pipelines.sql.embedded.streaming import EmbeddedStream, needs_all_records

        needs_all_records(statement)
        topic = statement.topics[0]
        bounds = self._offsets.bounds(topic, self._offsets.topics()[topic])
        starts = {each: bound.start if from_beginning else bound.end for each, bound in bounds.items()}
        return EmbeddedStream(statement, self._offsets, self._shape(topic, bounds), starts)

    def _spark_or_reason(self, why: str) -> TopicQuery:
        try:
            return self._spark()
        except CannotRun as error:
            if not why:
                raise
            raise CannotRun(f"The embedded engine cannot answer this query ({why}), and Spark cannot start: {error}") from error

    def _without_spark(self, statement: Statement, limit: int | None) -> Answer:
        partitions = self._offsets.topics()
        bounds = {name: self._offsets.bounds(name, partitions[name]) for name in statement.topics}
        shapes = {name: self._shape(name, bounds[name]) for name in statement.topics}
        if statement.described is not None:
            rows = [(name, spark_name(kind), None) for name, kind in shapes[statement.described].columns]
            return Answer(["col_name", "data_type", "comment"], ["string"] * 3, rows[:limit], EngineChoice.EMBEDDED)
        if statement.tree is None:
            raise NotProven("DESCRIBE with options")
        if not is_installed():
            raise NotProven("DuckDB is not installed: pip install 'barnabas[sql]'")
        from barnabas.pipelines.sql.embedded.answering import AUTO, INSISTED, answer

        limits = INSISTED if self.engine is EngineChoice.EMBEDDED else AUTO
        found = answer(statement, self._offsets, bounds, shapes, limits=limits, limit=limit)
        return Answer(
            [name for name, _ in found.columns],
            [spark_name(kind) for _, kind in found.columns],
            _first(found.rows, limit),
            EngineChoice.EMBEDDED,
            found.records,
        )

    def _shape(self, topic: str, bounds: Mapping[int, Bounds]) -> TableShape:
        return self._shapes.of(topic, self._offsets.sample(topic, bounds, self._sample))


def _first(rows: Iterator[tuple[Any, ...]], limit: int | None) -> Iterator[tuple[Any, ...]]:
    for index, row in enumerate(rows):
        if index == limit:
            return
        yield row
