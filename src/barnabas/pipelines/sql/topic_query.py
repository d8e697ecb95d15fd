"""One query over topics: the names in it become tables, bounded by the current ends of the topics,
or endless streams.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.running.sentences import sentence_of
from barnabas.pipelines.sql.inference import TableShape
from barnabas.pipelines.sql.relations import Relation, parse, quote_dotted_names, relations
from barnabas.pipelines.sql.shapes import TopicShapes
from barnabas.pipelines.sql.time_filter import oldest_ms
from barnabas.pipelines.sql.topic_offsets import Bounds, TopicOffsets, as_json
from barnabas.pipelines.sql.topic_table import table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKAGES = ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",)
# Records to read for a topic's columns.
SAMPLE_RECORDS = 1000
_UNKNOWN_COLUMN = re.compile(r"name `(.+?)` cannot be resolved")
_SETTINGS = {
    # A header may be there twice; most clients return the last one.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
}


@dataclass(frozen=True, slots=True)
class TopicToRead:
    name: str
    bounds: Mapping[int, Bounds]
    shape: TableShape


class TopicQuery:
    """``spark_options`` and ``client_config`` reach the same cluster, each for its client."""

    def __init__(
        self,
        session: SparkSession,
        *,
        spark_options: Mapping[str, str],
        client_config: Mapping[str, Any],
        shapes: TopicShapes | None = None,
    ) -> None:
        # Views in a session of their own: two queries may use one name for different things.
        self._session = session.newSession()
        for name, value in _SETTINGS.items():
            self._session.conf.set(name, value)
        self._spark_options = dict(spark_options)
        self._client_config = dict(client_config)
        self._shapes = TopicShapes() if shapes is None else shapes

    def cancel(self) -> None:
        """Ends the jobs that run now, with an error."""
        self._session.sparkContext.cancelAllJobs()

    def batch(self, query: str, *, sample: int = SAMPLE_RECORDS) -> DataFrame:
        """A frame over the records that the topics have now."""
        text, topics = self._find_topics(query, sample)
        for each in topics:
            self._view(each, self._read(each, each.bounds))
        with _sentences(topics):
            frame = self._session.sql(text)
            java: Any = frame._jdf  # noqa: SLF001 - PySpark shows no plan
            plan = java.queryExecution().optimizedPlan()
        if self._narrow(topics, plan):
            frame = self._session.sql(text)
        return frame

    def stream(self, query: str, *, sample: int = SAMPLE_RECORDS, from_beginning: bool = False) -> DataFrame:
        """An endless frame over the topics, from now or from their beginning."""
        text, topics = self._find_topics(query, sample)
        for each in topics:
            starts = {partition: bound.start if from_beginning else bound.end for partition, bound in each.bounds.items()}
            options = self._options(each.name) | {"startingOffsets": as_json(each.name, starts)}
            self._view(each, self._session.readStream.format("kafka").options(**options).load())
        with _sentences(topics):
            frame = self._session.sql(text)
        if not frame.isStreaming:
            raise CannotRun("--stream needs a query that reads a topic.")
        return frame

    def _find_topics(self, query: str, sample: int) -> tuple[str, list[TopicToRead]]:
        """The query as Spark must get it, and the topics that it reads."""
        found = relations(parse(self._session, query))
        offsets = TopicOffsets(self._client_config)
        try:
            existing = offsets.topics()
            for each in found:
                if each.name not in existing:
                    raise CannotRun(_no_such_topic(each, list(existing)))
            topics = []
            for name in dict.fromkeys(each.name for each in found):
                bounds = offsets.bounds(name, existing[name])
                topics.append(TopicToRead(name, bounds, self._shapes.of(name, offsets.sample(name, bounds, sample))))
        finally:
            offsets.close()
        return quote_dotted_names(query, found), topics

    def _narrow(self, topics: list[TopicToRead], plan: Any) -> bool:
        """Whether there was a topic of which the query needs only the newer part."""
        moments = {each.name: moment for each in topics if (moment := oldest_ms(plan, each.name)) is not None}
        if not moments:
            return False
        offsets = TopicOffsets(self._client_config)
        try:
            for each in topics:
                if each.name in moments:
                    self._view(each, self._read(each, offsets.since(each.name, each.bounds, moments[each.name])))
        finally:
            offsets.close()
        return True

    def _read(self, topic: TopicToRead, bounds: Mapping[int, Bounds]) -> DataFrame:
        options = self._options(topic.name) | {
            "startingOffsets": as_json(topic.name, {partition: bound.start for partition, bound in bounds.items()}),
            "endingOffsets": as_json(topic.name, {partition: bound.end for partition, bound in bounds.items()}),
        }
        return self._session.read.format("kafka").options(**options).load()

    def _options(self, topic: str) -> dict[str, str]:
        return {
            **self._spark_options,
            "subscribe": topic,
            "includeHeaders": "true",
            "kafka.isolation.level": "read_committed",
            # Retention may delete records that the query was about to read; the query is answered
            # anyway.
            "failOnDataLoss": "false",
            "groupIdPrefix": "barnabas.sql",
        }

    def _view(self, topic: TopicToRead, records: DataFrame) -> None:
        table(records, topic.shape).createOrReplaceTempView(f"`{topic.name}`")


def _no_such_topic(relation: Relation, existing: list[str]) -> str:
    close = difflib.get_close_matches(relation.name, existing, n=1)
    return f"There is no topic {relation.name!r}{f'; did you mean {close[0]!r}?' if close else '.'}"


@contextmanager
def _sentences(topics: list[TopicToRead]) -> Iterator[None]:
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        unknown = _UNKNOWN_COLUMN.search(str(error))
        empty = [each.name for each in topics if each.shape.is_empty]
        if unknown and empty:
            raise CannotRun(
                f"There is no column {unknown[1].replace('`', '')!r}: topic {empty[0]!r} is empty, so its fields are unknown."
            ) from error
        raise CannotRun(f"The query cannot be run: {sentence_of(error)}") from error
