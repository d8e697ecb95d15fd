"""Rows that are being polled during a power failure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.jdbc_database import JdbcDatabase
from barnabas.pipelines.sources.jdbc_query import JdbcQuery, Position, literal
from barnabas.pipelines.sources.landing import Landing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQLITE = JdbcDatabase("jdbc:sqlite:x", None, None, ())


def test_rows_have_landed_after_the_move(spark: SparkSession, tmp_path: Path) -> None:
    landing = Landing(spark, str(tmp_path / "landed"))
    rows = spark.createDataFrame([(1,)], "id INT")
    landing.stage(rows)
    # All steps of a poll except the last.
    (tmp_path / "landed/positions").mkdir()
    (tmp_path / "landed/positions/00000000000000000001").write_text("lost")
    assert Landing(spark, str(tmp_path / "landed")).position() is None

    landing.stage(rows)
    landing.land("first")
    landing.stage(rows)
    landing.land("second")
    again = Landing(spark, str(tmp_path / "landed"))
    assert again.position() == "second"
    assert spark.read.parquet(again.rows).count() == 2


def test_rows_that_every_sink_has_written_are_removed_but_not_the_position(spark: SparkSession, tmp_path: Path) -> None:
    folder, readers = tmp_path / "landed", [str(tmp_path / name) for name in ("first", "second")]
    # Spark compacts its log now and then, and then a record is in another file.
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.fileSource.log.compactInterval", "2")

    def land(count: int) -> None:
        for _ in range(count):
            landing.stage(spark.createDataFrame([(1,)], "id INT"))
            landing.land("somewhere")

    def forget(keep_ms: int = 0) -> list[int]:
        Landing(spark, str(folder)).forget(readers, keep_ms)
        return sorted(int(each.name.partition(".")[0]) for each in (folder / "rows").glob("*.parquet"))

    def read(checkpoint: str) -> None:
        stream = session.readStream.schema("id INT").parquet(landing.rows).writeStream.format("noop")
        stream.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

    landing = Landing(spark, str(folder))
    land(2)
    read(readers[0])
    assert forget() == [1, 2], "the second has not read anything"
    read(readers[1])
    assert forget(keep_ms=3_600_000) == [1, 2], "somebody may come later"
    assert forget() == [2], "the last one has the number"
    land(2)
    assert forget() == [3, 4], "nobody has read these"
    for reader in readers:
        read(reader)
    land(2)
    for reader in readers:
        read(reader)
    assert forget() == [6]
    assert landing.position() == "somewhere"


def test_the_next_poll_returns_the_rows_after_the_last_one() -> None:
    query = JdbcQuery(SQLITE, "main.orders", "timestamp+incrementing", "id", "changed", 0)
    asked = query.rows_after(Position("2030-01-31 12:00:00", "7"), 10)
    assert """(t."changed" > '2030-01-31 12:00:00' OR (t."changed" = '2030-01-31 12:00:00' AND t."id" > 7))""" in asked
    assert 'FROM "main"."orders" t WHERE t."changed" IS NOT NULL AND t."id" IS NOT NULL' in asked
    assert 'ORDER BY t."changed", t."id" LIMIT 10' in asked
    assert Position.from_json(Position("x", "7").to_json()) == Position("x", "7")
    assert literal("it's") == "'it''s'"
