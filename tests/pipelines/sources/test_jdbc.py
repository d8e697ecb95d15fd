"""Tables of real databases, polled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.running.runner import start
from tests.pipelines.databases import KINDS, Database, database
from tests.waiting import LONG_PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module", params=KINDS)
def db(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with database(request.param, spark, tmp_path_factory.mktemp("db")) as made:
        yield made


def polled(db: Database, target: Path, **fields: Any) -> Pipeline:
    files = {"path": str(target), "format": "parquet"}
    return Pipeline("polled").source("orders", jdbc={**db.fields, "table": "orders", **fields}).sink("out", from_="orders", files=files)


def landed(spark: SparkSession, target: Path, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(str(target)).selectExpr(*columns).collect())


def orders(db: Database) -> None:
    db.execute(
        "DROP TABLE IF EXISTS orders",
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, item VARCHAR(20), price DOUBLE PRECISION, changed TIMESTAMP)",
        "INSERT INTO orders VALUES (1, 'tea', 0.30000000000000004, '2030-01-31 12:00:00')",
        "INSERT INTO orders VALUES (3000000000, NULL, NULL, '2030-01-31 12:00:00')",
    )


def test_new_rows_are_found_by_their_number(spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path) -> None:
    orders(db)
    pipeline = polled(db, tmp_path / "out", mode="incrementing", incrementing="id", rows_max=2)
    run: Callable[[], object] = lambda: pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)  # noqa: E731
    run()
    assert landed(spark, tmp_path / "out", "id", "item", "price") == [(1, "tea", 0.30000000000000004), (3000000000, None, None)]
    db.execute(*(f"INSERT INTO orders VALUES ({3000000000 + each}, 'x', 1, '2030-01-31 12:00:01')" for each in (1, 2, 3)))
    db.execute("UPDATE orders SET item = 'coffee' WHERE id = 1")
    run()
    run()
    found = landed(spark, tmp_path / "out", "id", "item")
    assert found == [(1, "tea"), (3000000000, None), *((3000000000 + each, "x") for each in (1, 2, 3))], "each once, a change not at all"


def test_changed_rows_are_found_by_their_time(spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path) -> None:
    orders(db)
    pipeline = polled(db, tmp_path / "out", mode="timestamp+incrementing", incrementing="id", timestamp="changed", rows_max=1)
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    db.execute(
        "UPDATE orders SET item = 'coffee', changed = '2030-01-31 12:00:01' WHERE id = 1",
        "INSERT INTO orders VALUES (2, 'late', 1, '2030-01-31 11:00:00')",
        "INSERT INTO orders VALUES (4000000000, 'same time', 1, '2030-01-31 12:00:00')",
        "INSERT INTO orders VALUES (5, 'never', 1, NULL)",
    )
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    found = landed(spark, tmp_path / "out", "id", "coalesce(item, '-')", "date_format(changed, 'HH:mm:ss')")
    assert found == [
        (1, "coffee", "12:00:01"),
        (1, "tea", "12:00:00"),
        (3000000000, "-", "12:00:00"),
        (4000000000, "same time", "12:00:00"),
    ]


@pytest.mark.soak
def test_bulk_reads_all_rows_every_time(spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path) -> None:
    orders(db)
    pipeline = polled(db, tmp_path / "out", mode="bulk")
    for _ in range(2):
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert landed(spark, tmp_path / "out", "id") == [(1,), (1,), (3000000000,), (3000000000,)]


def test_polling_resumes_after_the_database_was_down(spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path) -> None:
    if db.server is None:
        pytest.skip("SQLite has no server that could go away")
    orders(db)
    pipeline = polled(db, tmp_path / "out", mode="incrementing", incrementing="id", poll="200 ms")
    run = start([pipeline.declaration()], spark, checkpoint=checkpoint)
    try:
        _until(lambda: _count(spark, tmp_path / "out") == 2, "two rows are written", run)
        db.server.stop()
        (poll,) = (each.query for each in run.queries if each.part == "orders.poll")
        before = poll.lastProgress
        _until(
            lambda: (poll.lastProgress["batchId"] if poll.lastProgress else 0) > (before["batchId"] if before else 0) + 1,
            "the poll goes on without its database",
            run,
        )
        db.server.start()
        _until(lambda: _executed(db, "INSERT INTO orders VALUES (4000000000, 'back', 1, NULL)"), "the database is back", run)
        _until(lambda: _count(spark, tmp_path / "out") == 3, "the third row is written", run)
    finally:
        run.stop()


def _count(spark: SparkSession, target: Path) -> int:
    # With a schema, because the folder may exist without a committed file.
    return spark.read.schema("id BIGINT").parquet(str(target)).count() if target.exists() else 0


def _executed(db: Database, statement: str) -> bool:
    try:
        db.execute(statement)
    except Exception:  # noqa: BLE001 - whatever a database says while it starts
        return False
    return True


def _until(condition: Callable[[], bool], what: str, run: Any) -> None:
    def holds() -> bool:
        run._check()
        return condition()

    until(holds, what, seconds_max=LONG_PATIENCE_SECONDS)
