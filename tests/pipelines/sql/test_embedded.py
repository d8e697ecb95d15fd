"""The embedded engine: its limits, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.pipelines.column_types import BIGINT
from barnabas.pipelines.kafka_settings import for_librdkafka
from barnabas.pipelines.sql.embedded.answering import Limits, answer
from barnabas.pipelines.sql.embedded.engine import Engine
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.inference import infer
from barnabas.pipelines.sql.syntax import read_statement
from barnabas.pipelines.sql.topic_offsets import Bounds, TopicOffsets
from tests.pipelines.conftest import Broker
from tests.pipelines.topics import Topics

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")


@pytest.fixture
def offsets(broker: Broker) -> Iterator[TopicOffsets]:
    made = TopicOffsets(for_librdkafka(broker.bootstrap, {}))
    yield made
    made.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_csv('http://localhost/x.csv')",
    ],
)
def test_the_engine_opens_no_file_and_no_connection(sql: str) -> None:
    with Engine() as engine, pytest.raises(NotProven, match="DuckDB refuses it"):
        engine.answer(sql, [])


@pytest.mark.parametrize("sql", ["ATTACH '/tmp/x.db'", "COPY (SELECT 1) TO '/tmp/x.csv'", "SET memory_limit = '64GB'", "INSTALL httpfs"])
def test_the_engine_is_locked(sql: str) -> None:
    import duckdb

    with Engine() as engine, pytest.raises(duckdb.Error):
        engine._connection.execute(sql)


def test_a_query_beyond_its_limits_is_refused(topics: Topics, offsets: TopicOffsets) -> None:
    name = topics.create("orders", partitions=2)
    topics.send(name, [{"n": number, "text": "x" * 100} for number in range(50)])
    bounds = offsets.bounds(name, 2)
    shape = infer(offsets.sample(name, bounds, 10))

    def ask(text: str, limits: Limits) -> list[tuple[object, ...]]:
        return list(answer(read_statement(text), offsets, {name: bounds}, {name: shape}, limits=limits, limit=None).rows)

    count = f"SELECT count(*) FROM `{name}`"
    assert ask(count, Limits(records=50, bytes=10**6)) == [(50,)]
    with pytest.raises(NotProven, match="it needs 50 records, and the limit is 49"):
        ask(count, Limits(records=49, bytes=10**6))
    with pytest.raises(NotProven, match="it needs more than 0 MiB of records"):
        ask(count, Limits(records=50, bytes=1000))
    assert len(ask(f"SELECT n FROM `{name}` LIMIT 3", Limits(records=3, bytes=10**6))) == 3


def test_reading_stops_at_the_end_of_a_range(topics: Topics, offsets: TopicOffsets) -> None:
    name = topics.create("orders")
    topics.send(name, [{"n": number} for number in range(5)])
    assert [each.offset() for batch in offsets.records(name, {0: Bounds(1, 3)}) for each in batch] == [1, 2]
    assert list(offsets.records(name, {0: Bounds(3, 3)})) == []


def test_a_large_join_stays_within_its_memory() -> None:
    with Engine() as engine:
        found = engine.answer(
            "SELECT count(*) AS c0 FROM (SELECT DISTINCT a.range * 1000 + b.range FROM range(2000) a, range(1000) b)", [BIGINT]
        )
        assert list(found) == [(2_000_000,)]
