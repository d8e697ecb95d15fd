"""Topics in, SQL, topics out: the shortest useful pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines import Pipeline
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAYMENTS = [{"account": "a", "amount": 5.0}, {"account": "b", "amount": 500.0}, {"account": "a", "amount": 700.0}]


def test_rows_that_sql_selects_arrive_with_their_key(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, alerts = topics.create("payments", partitions=2), topics.create("alerts")
    topics.send(payments, PAYMENTS)
    pipeline = (
        Pipeline("alerts", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, format="json", schema="account STRING, amount DOUBLE")
        .step("large", sql="SELECT account, amount FROM payments WHERE amount > 100")
        .sink("out", from_="large", topic=alerts, key="account", guarantee="at_least_once")
    )
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    found = sorted((each.key, each.json["amount"]) for each in topics.read(alerts))
    assert found == [(b"a", 700.0), (b"b", 500.0)]
    topics.send(payments, [{"account": "c", "amount": 900.0}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert [each.key for each in topics.read(alerts)][2:] == [b"c"], "a second run goes on where the first one ended"
