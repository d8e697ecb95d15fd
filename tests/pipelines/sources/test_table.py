"""A compacted topic as a table, and the two ways to join a stream with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import DeclarationError
from barnabas.pipelines.running.runner import start
from tests.pipelines.topics import Topics
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS: dict[str, list[dict[str, Any]]] = {
    "sql": [
        {"view": "rated", "sql": "SELECT p.id, p.amount, l.most FROM payments p LEFT JOIN limits l ON p.account = l.account"},
    ],
    "join": [
        {"view": "met", "join": {"stream": "payments", "table": "limits", "on": "account", "how": "left"}},
        {"view": "rated", "sql": "SELECT id, amount, limits.most FROM met"},
    ],
}


@pytest.mark.parametrize("way", ["sql", "join"])
def test_a_stream_is_joined_with_the_latest_values(way: str, spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, rated = topics.create("payments", partitions=2), topics.create("rated")
    limits = topics.create("limits", partitions=2, cleanup_policy="compact")
    for account, most in (("7", 10.0), ("8", 20.0), ("7", 30.0), ("9", 5.0), ("9", None)):
        topics.send_record(limits, account.encode(), None if most is None else b'{"most": %f}' % most)
    topics.send_record(limits, None, b'{"most": 1}')
    topics.send(payments, [{"id": each, "account": each, "amount": 1.5} for each in (7, 8, 9, 10)])
    pipeline = (
        Pipeline("rating", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="id INT, account BIGINT, amount DOUBLE")
        .source("limits", table=limits, key="account BIGINT", schema="most DOUBLE")
    )
    for step in STEPS[way]:
        pipeline.step(**step)
    pipeline.sink("out", from_="rated", topic=rated, guarantee="at_least_once")
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert found(topics, rated) == {7: (1.5, 30.0), 8: (1.5, 20.0), 9: (1.5, None), 10: (1.5, None)}

    topics.send_record(limits, b"8", None)
    topics.send_record(limits, b"10", b'{"most": 40}')
    topics.send(payments, [{"id": 100 + each, "account": each, "amount": 2.5} for each in (7, 8, 9, 10)])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    later = {number: each for number, each in found(topics, rated).items() if number > 100}
    assert later == {107: (2.5, 30.0), 108: (2.5, None), 109: (2.5, None), 110: (2.5, 40.0)}


@pytest.mark.soak
def test_sql_sees_changes_while_it_runs(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, rated = topics.create("payments"), topics.create("rated")
    limits = topics.create("limits", cleanup_policy="compact")
    pipeline = (
        Pipeline("rating", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="id INT, account BIGINT, amount DOUBLE")
        .source("limits", table=limits, key="account BIGINT", schema="most DOUBLE")
        .step(**STEPS["sql"][0])
        .sink("out", from_="rated", topic=rated, guarantee="at_least_once")
    )
    run = start([pipeline.declaration()], spark, checkpoint=checkpoint)
    try:
        for number, most in enumerate((10.0, 20.0)):
            topics.send_record(limits, b"7", b'{"most": %f}' % most)
            topics.send(payments, [{"id": number, "account": 7, "amount": 1}])

            def is_rated(number: int = number) -> bool:
                run.wait(seconds_max=0.1)
                return number in found(topics, rated)

            until(is_rated, f"payment {number} is rated", seen=lambda: found(topics, rated))
        assert found(topics, rated) == {0: (1.0, 10.0), 1: (1.0, 20.0)}
    finally:
        run.stop()


def found(topics: Topics, name: str) -> dict[int, tuple[float, float | None]]:
    values = topics.values(name)
    assert len({each["id"] for each in values}) == len(values)
    return {each["id"]: (each["amount"], each["most"]) for each in values}


def test_all_types_of_a_stream_survive_the_join(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, out = topics.create("payments"), topics.create("out")
    limits = topics.create("limits", cleanup_policy="compact")
    topics.send_record(limits, b"a", b'{"most": 1}')
    topics.send_record(limits, b"bad", b"nonsense")
    sent = {"k": "a", "n": None, "price": 12.34, "at": "2030-01-31T12:00:00.123456Z", "tags": ["x"], "of": {"deep": 1}}
    topics.send_record(payments, b"\xff", None)
    topics.send(payments, [sent])
    schema = "k STRING, n INT, price DECIMAL(10,2), at TIMESTAMP, tags ARRAY<STRING>, of STRUCT<deep: INT>"
    bad = topics.name("bad")
    (
        Pipeline("types", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema=schema, tolerance="all")
        .source("limits", table=limits, key="k STRING", schema="most INT", dead_letters={"topic": bad})
        .step("met", join={"stream": "payments", "table": "limits", "on": "k"})
        .step("shown", sql="SELECT k, n, price, date_format(at, 'HH:mm:ss.SSSSSS') at, tags, of, limits, _offset AS position FROM met")
        .sink("out", from_="shown", topic=out, guarantee="at_least_once")
        .run(session=spark, checkpoint=checkpoint, available_now=True)
    )
    assert topics.values(out) == [{**sent, "at": "12:00:00.123456", "limits": {"most": 1}, "position": 1}]
    assert [each.key for each in topics.read(bad)] == [b"bad"]


def test_impossible_joins_are_refused(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments = topics.create("payments")
    with pytest.raises(DeclarationError, match="lacks 'key'"):
        Pipeline("t").source("limits", table=payments, schema="a INT").sink("s", from_="limits", console={}).declaration()
    pipeline = (
        Pipeline("t", bootstrap=topics.bootstrap)
        .source("a", topic=payments, schema="k STRING")
        .source("b", topic=payments, schema="k STRING")
        .step("j", join={"stream": "a", "table": "b", "on": "k"})
        .sink("s", from_="j", console={})
    )
    with pytest.raises(DeclarationError, match="which is not a source of the kind 'table'"):
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
