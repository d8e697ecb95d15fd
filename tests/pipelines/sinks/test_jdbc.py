"""Rows in real databases: replaced by their key, deleted, and written once however often a batch
runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration
from barnabas.pipelines.errors import DeclarationError
from barnabas.pipelines.sinks.jdbc import JdbcSinkSettings, UpsertedTable
from tests.pipelines.databases import KINDS, Database, database
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "account STRING, amount DOUBLE, at TIMESTAMP, tags ARRAY<STRING>"


@pytest.fixture(scope="module", params=KINDS)
def db(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with database(request.param, spark, tmp_path_factory.mktemp("db")) as made:
        yield made


def test_rows_replace_those_with_the_same_key(spark: SparkSession, db: Database, topics: Topics, checkpoint: str) -> None:
    db.execute("DROP TABLE IF EXISTS balances")
    payments = topics.create("payments", partitions=1)
    pipeline = (
        Pipeline("upserts", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema=SCHEMA)
        .sink("db", from_="payments", jdbc={**db.fields, "table": "balances", "keys": ["account"], "delete": "amount < 0"})
    )
    at = "2030-01-31T12:00:00.123456Z"
    topics.send(
        payments,
        [{"account": "a", "amount": 1, "at": at, "tags": ["x"]}, {"account": "b", "amount": 2}, {"account": "a", "amount": 3, "at": at}],
    )
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert sorted(db.rows("SELECT account, amount FROM balances")) == [("a", 3.0), ("b", 2.0)], "the last one of a key counts"
    topics.send(payments, [{"account": "b", "amount": -1}, {"account": "c", "amount": 4}, {"account": "d", "amount": -1}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert sorted(db.rows("SELECT account, amount FROM balances")) == [("a", 3.0), ("c", 4.0)]
    text = "at" if db.kind == "sqlite" else "CAST(at AS CHAR(26))"
    (written,) = db.rows(f"SELECT {text} AS at FROM balances WHERE account = 'a'")
    # MariaDB's TIMESTAMP, as Spark declares it, has whole seconds.
    assert written[0].startswith("2030-01-31 12:00:00" if db.kind == "mariadb" else "2030-01-31 12:00:00.123456")


def test_a_table_without_keys_gets_every_row_once(spark: SparkSession, db: Database, topics: Topics, checkpoint: str) -> None:
    db.execute(
        "DROP TABLE IF EXISTS history", "CREATE TABLE history (amount DOUBLE PRECISION, account VARCHAR(20) NOT NULL, note VARCHAR(9))"
    )
    payments = topics.create("payments")
    pipeline = (
        Pipeline("inserts", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="account STRING, amount DOUBLE")
        .sink("db", from_="payments", jdbc={**db.fields, "table": "history"})
    )
    topics.send(payments, [{"account": "a", "amount": 1}, {"account": "a", "amount": 1}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)

    (sink,) = pipeline.declaration().sinks
    batch = spark.createDataFrame([("a", 1.0), ("a", 1.0)], "account STRING, amount DOUBLE")
    restarted_sink(sink, checkpoint).write(batch, 0)
    assert db.rows("SELECT account, amount, note FROM history") == [("a", 1.0, None)] * 2, "batch 0 is known to be done"
    restarted_sink(sink, checkpoint).write(batch, 1)
    assert len(db.rows("SELECT amount FROM history")) == 4
    assert len(db.rows("SELECT batch FROM barnabas_batches")) >= 1


def restarted_sink(sink: SinkDeclaration, checkpoint: str) -> UpsertedTable:
    """The sink of a run that starts again after a failure."""
    assert isinstance(sink.settings, JdbcSinkSettings)
    return UpsertedTable(sink.settings, f"inserts.{sink.name}", f"{checkpoint}/inserts/{sink.name}")


def test_a_batch_waits_until_the_database_is_back(spark: SparkSession, db: Database, topics: Topics, checkpoint: str) -> None:
    if db.server is None:
        pytest.skip("SQLite has no server that could go away")
    db.execute("DROP TABLE IF EXISTS waiting")
    payments = topics.create("payments")
    pipeline = (
        Pipeline("waits", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="account STRING, amount DOUBLE")
        .sink("db", from_="payments", jdbc={**db.fields, "table": "waiting", "keys": ["account"]})
    )
    topics.send(payments, [{"account": "a", "amount": 1}])
    db.server.stop()
    return_later = threading.Timer(2.0, db.server.start)
    return_later.start()
    try:
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    finally:
        return_later.join()
    assert db.rows("SELECT account, amount FROM waiting") == [("a", 1.0)]


@pytest.mark.parametrize(
    ("jdbc", "sentence"),
    [
        ({"url": "postgres://x", "table": "t"}, "begins with jdbc:postgresql:, jdbc:mariadb:, jdbc:sqlite:; not 'postgres://x'."),
        ({"url": "jdbc:sqlite:x", "table": "t", "delete": "a < 0"}, "'delete' of 'jdbc' of sink 'db' needs 'keys'"),
        ({"url": "jdbc:sqlite:x"}, "'jdbc' of sink 'db' lacks 'table': a text."),
    ],
)
def test_invalid_settings_are_refused(jdbc: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        Pipeline("p").source("s", topic="t", schema="a INT").sink("db", from_="s", jdbc=jdbc).declaration()
    assert sentence in str(refused.value)
