"""Topics in, SQL, topics out: the shortest useful pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from barnabas.pipelines import CannotRun, Pipeline
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
from barnabas.pipelines.running.explain import explain
from barnabas.pipelines.running.runner import start
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


def test_explain_shows_columns_and_plans_and_runs_nothing(spark: SparkSession, topics: Topics) -> None:
    payments, alerts = topics.create("payments"), topics.create("alerts")
    pipeline = (
        Pipeline("alerts", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="account STRING, amount DOUBLE")
        .step("large", sql="SELECT account, count(*) AS payments FROM payments GROUP BY account")
        .sink("out", from_="large", topic=alerts, mode="update")
    )
    lines: list[str] = []
    explain([pipeline.declaration()], write=lines.append, session=spark)
    assert "  source payments <- topic: account string, amount double" in lines
    assert "  step large <- payments (sql): account string, payments bigint" in lines
    assert "  sink out <- large (topic, update)" in lines
    assert "StateStoreSave" in lines[-1], "Spark's plan, as it would run"
    assert topics.read(alerts) == []


def test_several_pipelines_run_together_and_may_use_the_same_names(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, alerts = topics.create("payments"), topics.create("alerts")
    topics.send(payments, PAYMENTS)

    def pipeline(name: str, least: int) -> PipelineDeclaration:
        made = Pipeline(name, bootstrap=topics.bootstrap).source("payments", topic=payments, schema="account STRING, amount DOUBLE")
        made.step("large", sql=f"SELECT '{name}' AS who, account FROM payments WHERE amount > {least}")
        return made.sink("out", from_="large", topic=alerts).declaration()

    with pytest.raises(CannotRun, match="Two of the pipelines are called 'a'"):
        start([pipeline("a", 0), pipeline("a", 1)], spark)
    run = start([pipeline("a", 0), pipeline("b", 600)], spark, checkpoint=checkpoint, available_now=True)
    try:
        run.wait()
    finally:
        run.stop()
    assert sorted(each["who"] for each in topics.values(alerts)) == ["a", "a", "a", "b"]
