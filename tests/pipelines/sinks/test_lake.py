"""Lake tables: added to, partitioned, merged into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import DeclarationError
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Iceberg is the slowest of the three, and differs least from Delta here.
SCHEMA = "account STRING, day STRING, amount DOUBLE"


def lake(topics: Topics, payments: str, **settings: Any) -> Pipeline:
    return (
        Pipeline("lake", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema=SCHEMA)
        .sink("lake", from_="payments", lake=settings)
    )


def rows(spark: SparkSession, kind: str, path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format(kind).load(str(path)).select("account", "day", "amount").collect())


@pytest.mark.parametrize("kind", ["parquet", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("delta", "iceberg"))])
def test_rows_are_added_to_their_partitions(kind: str, spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    payments, path = topics.create("payments"), tmp_path / "lake" / "payments"
    pipeline = lake(topics, payments, format=kind, path=str(path), partition_by=["day"])
    topics.send(payments, [{"account": "a", "day": "mo", "amount": 1}, {"account": "b", "day": "tu", "amount": 2}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    topics.send(payments, [{"account": "a", "day": "tu", "amount": 3}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert rows(spark, kind, path) == [("a", "mo", 1.0), ("a", "tu", 3.0), ("b", "tu", 2.0)]
    data = path / "data" if kind == "iceberg" else path
    assert {each.name for each in data.glob("day=*")} == {"day=mo", "day=tu"}


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_rows_are_merged_by_their_keys(kind: str, spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    payments, path = topics.create("payments"), tmp_path / "lake" / "balances"
    pipeline = lake(topics, payments, format=kind, path=str(path), partition_by=["day"], merge_on=["account", "day"], delete="amount < 0")
    first = [("a", "mo", 1), ("a", "mo", 2), ("b", "mo", 3), (None, "mo", 4)]
    topics.send(payments, [dict(zip(("account", "day", "amount"), each, strict=True)) for each in first])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    then = [("a", "tu", 5), ("b", "mo", -1), ("c", "mo", -1), (None, "mo", 6)]
    topics.send(payments, [dict(zip(("account", "day", "amount"), each, strict=True)) for each in then])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    found = {
        (account or "-", day): amount
        for account, day, amount in spark.read.format(kind).load(str(path)).select("account", "day", "amount").collect()
    }
    assert found == {("a", "mo"): 2.0, ("a", "tu"): 5.0, ("-", "mo"): 6.0}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"format": "parquet", "path": "x", "merge_on": ["a"]}, "cannot merge into parquet"),
        ({"format": "delta"}, "has either a 'path' or a 'table'."),
        ({"format": "delta", "table": "x.y"}, "only Iceberg tables have names"),
        ({"format": "hudi", "path": "x"}, "is one of delta, iceberg, parquet, not 'hudi'."),
    ],
)
def test_unsupported_options_of_lakes_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        Pipeline("p").source("s", topic="t", schema="a INT").sink("lake", from_="s", lake=settings).declaration()
    assert sentence in str(refused.value)
