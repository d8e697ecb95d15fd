"""Topics as tables."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark
from barnabas.pipelines.sql.answers import StreamedAnswer, output_mode
from barnabas.pipelines.sql.relations import parse, relations
from barnabas.pipelines.sql.time_filter import oldest_ms
from barnabas.pipelines.sql.topic_query import TopicQuery
from tests.pipelines.conftest import Broker
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR_MS = 3_600_000


@pytest.fixture
def query(spark: SparkSession, broker: Broker) -> TopicQuery:
    return TopicQuery(spark, spark_options=for_spark(broker.bootstrap, {}), client_config=for_librdkafka(broker.bootstrap, {}))


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(each) for each in frame.collect()]


def names_in(spark: SparkSession, text: str) -> list[str]:
    return [each.name for each in relations(parse(spark, text))]


def test_tables_are_found_at_any_place_of_a_query(spark: SparkSession) -> None:
    assert names_in(spark, "SELECT * FROM a JOIN `b-c` ON a.x = `b-c`.x, d.e") == ["a", "b-c", "d.e"]
    assert names_in(spark, "SELECT (SELECT max(x) FROM a) FROM b WHERE x IN (SELECT x FROM c) AND EXISTS (SELECT 1 FROM d)") == list("abcd")
    assert names_in(
        spark, "WITH a AS (SELECT * FROM x), b AS (SELECT * FROM a) SELECT * FROM a UNION SELECT * FROM b UNION SELECT * FROM c"
    ) == [
        "x",
        "c",
    ]
    assert names_in(spark, "SELECT * FROM (SELECT * FROM a) LIMIT 3") == ["a"]


@pytest.mark.parametrize("text", ["CREATE TABLE t AS SELECT 1", "INSERT INTO t SELECT 1", "DROP TABLE t", "SET a = b"])
def test_statements_that_change_something_are_refused(spark: SparkSession, text: str) -> None:
    with pytest.raises(CannotRun, match="barnabas sql changes nothing"):
        parse(spark, text)


def test_invalid_sql_is_refused(spark: SparkSession) -> None:
    with pytest.raises(CannotRun, match="not SQL that Spark understands"):
        parse(spark, "SELEC 1 FROM")
    with pytest.raises(CannotRun, match="Names with dashes are written in `backquotes`"):
        parse(spark, "SELECT * FROM my-topic")


def test_fields_of_json_are_columns(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders", partitions=2)
    topics.send(orders, [{"status": "paid", "n": number, "at": "2030-01-31T12:00:00Z"} for number in range(3)])
    topics.send(orders, [{"status": "open", "more": {"a": [1, 2]}}])
    assert sorted(rows(query.batch(f"SELECT status, count(*), sum(n) FROM `{orders}` GROUP BY 1"))) == [("open", 1, None), ("paid", 3, 3)]
    assert rows(query.batch(f"SELECT more.a[1] FROM {orders} WHERE more IS NOT NULL")) == [(2,)]
    assert dict(query.batch(f"SELECT at, n FROM {orders}").dtypes) == {"at": "timestamp", "n": "bigint"}


def test_fields_of_kafka_are_columns(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders", partitions=2)
    topics.send_record(orders, b"k", b'{"a": 1, "_offset": 77}', {"trace": b"t1"}, partition=1, timestamp=1_700_000_000_000)
    (found,) = rows(query.batch(f"SELECT * FROM `{orders}`"))
    moment = datetime.datetime.fromtimestamp(1_700_000_000, datetime.UTC)
    assert found[:3] == ("k", 1, 0)
    assert found[3].astimezone(datetime.UTC) == moment
    assert found[4:] == ({"trace": "t1"}, 1)


def test_values_that_are_not_json_are_one_column(topics: Topics, query: TopicQuery) -> None:
    lines, raw, empty = topics.create("lines"), topics.create("raw-bytes"), topics.create("empty")
    topics.send(lines, [b"one", b"two"])
    topics.send_record(raw, b"\xff", b"\xfe\x00")
    assert sorted(rows(query.batch(f"SELECT value FROM `{lines}`"))) == [("one",), ("two",)]
    assert rows(query.batch(f"SELECT _key, value FROM `{raw}`")) == [(b"\xff", b"\xfe\x00")]
    assert rows(query.batch(f"SELECT value FROM `{empty}`")) == []
    with pytest.raises(CannotRun, match=r"There is no column 'status': topic '.*empty' is empty"):
        query.batch(f"SELECT status FROM `{empty}`")


def test_two_topics_can_be_joined(topics: Topics, query: TopicQuery) -> None:
    orders, people = topics.create("orders"), topics.create("people")
    topics.send(orders, [{"who": 1, "n": 5}, {"who": 2, "n": 6}, {"who": 1, "n": 7}])
    topics.send(people, [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}])
    text = f"WITH big AS (SELECT * FROM {orders} WHERE n > 5) SELECT name, n FROM big JOIN `{people}` p ON big.who = p.id ORDER BY n"
    assert rows(query.batch(text)) == [("Bob", 6), ("Ada", 7)]


def test_a_query_ends_at_the_offsets_that_its_topics_have_at_its_start(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders")
    topics.send(orders, [{"n": 1}])
    frame = query.batch(f"SELECT a.n, b.n FROM `{orders}` a CROSS JOIN `{orders}` b")
    topics.send(orders, [{"n": 2}])
    assert rows(frame) == [(1, 1)]


def test_a_filter_on_time_narrows_the_read_offsets(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders", partitions=2)
    now_ms = time.time_ns() // 1_000_000
    for age_hours, number in ((5, 1), (3, 2), (0.5, 3), (0.1, 4)):
        topics.send(orders, [{"n": number}], timestamp=round(now_ms - age_hours * HOUR_MS), partition=number % 2)
    frame = query.batch(f"SELECT n FROM `{orders}` WHERE _timestamp > now() - INTERVAL 1 HOUR AND n > 0 ORDER BY n")
    assert rows(frame) == [(3,), (4,)]
    plan = frame._jdf.queryExecution().optimizedPlan()
    # Each partition has one record that is too old, of two.
    assert all(f"{orders}-{each} -> 1" in plan.toString() for each in range(2))
    moment = oldest_ms(plan, orders)
    assert moment is not None
    assert abs(moment - (now_ms - HOUR_MS)) < HOUR_MS / 2
    twice = query.batch(
        f"SELECT count(*) FROM `{orders}` WHERE n > (SELECT max(n) - 2 FROM `{orders}` WHERE _timestamp > now() - INTERVAL 1 HOUR)"
    )
    assert rows(twice) == [(2,)]


def test_errors_are_sentences(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders")
    topics.send(orders, [{"status": 1}])
    with pytest.raises(CannotRun, match=r"There is no topic '.*ordres'; did you mean '.*orders'\?"):
        query.batch(f"SELECT * FROM `{topics.name('ordres')}`")
    with pytest.raises(CannotRun, match=r"There is no topic 'zzzzzzzzzzzz'\.$"):
        query.batch("SELECT * FROM zzzzzzzzzzzz")
    with pytest.raises(CannotRun, match=r"The query cannot be run: .*`stats` cannot be resolved"):
        query.batch(f"SELECT stats FROM `{orders}`")
    with pytest.raises(CannotRun, match="--stream needs a query that reads a topic"):
        query.stream("SELECT 1")


def test_a_table_can_be_described(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders")
    topics.send(orders, [{"status": "x"}])
    assert ("status", "string") in [each[:2] for each in rows(query.batch(f"DESCRIBE `{orders}`"))]


def test_a_stream_continues_to_answer(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders")
    topics.send(orders, [{"n": number} for number in range(5)])
    frame = query.stream(f"SELECT n * 2 AS twice FROM `{orders}` WHERE n > 1", from_beginning=True)
    assert output_mode(frame) == "append"
    found: list[Any] = []

    def show(batch: Any) -> None:
        found.extend(twice for (twice,) in batch)
        if len(found) == 3:
            topics.send(orders, [{"n": 10}, {"n": 11}])

    StreamedAnswer(frame, show, limit=4).run()
    assert found == [4, 6, 8, 20]


def test_a_stream_of_counts_returns_changed_rows(topics: Topics, query: TopicQuery) -> None:
    orders = topics.create("orders")
    topics.send(orders, [{"status": "paid"}])
    frame = query.stream(f"SELECT status, count(*) AS n FROM `{orders}` GROUP BY 1", from_beginning=True)
    assert output_mode(frame) == "update"
    found: list[Any] = []

    def show(batch: Any) -> None:
        found.extend(batch)
        if len(found) == 1:
            topics.send(orders, [{"status": "paid"}])

    StreamedAnswer(frame, show, limit=2).run()
    assert found == [("paid", 1), ("paid", 2)]
    assert output_mode(query.stream(f"SELECT status, count(*) AS n FROM `{orders}` GROUP BY 1 ORDER BY n")) == "complete"
