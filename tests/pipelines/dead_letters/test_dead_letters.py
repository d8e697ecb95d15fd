"""Undecodable records: where they go, and how they come back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.redrive import Selection, redrive
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pipeline_of(topics: Topics, payments: str, good: str, bad: str, schema: str) -> Pipeline:
    return (
        Pipeline("careful", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema=schema, dead_letters={"topic": bad})
        .sink("out", from_="payments", topic=good, guarantee="at_least_once")
    )


def test_undecodable_records_become_dead_letters_and_can_be_redriven(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, good, bad = topics.create("payments"), topics.create("good"), topics.name("bad")
    topics.send(payments, [{"amount": 1}])
    topics.send_record(payments, b"k", b'{"amount": "much"}', {"trace": b"7"}, timestamp=1_700_000_000_123)
    topics.send(payments, [b"\xff\xfe", None, {"amount": 2}])
    pipeline_of(topics, payments, good, bad, "amount INT").run(session=spark, checkpoint=checkpoint, available_now=True)

    assert [each["amount"] for each in topics.values(good)] == [1, 2]
    letters = topics.read(bad)
    assert [(each.key, each.value) for each in letters] == [(b"k", b'{"amount": "much"}'), (None, b"\xff\xfe"), (None, None)]
    first = letters[0].headers
    assert first["trace"] == b"7"
    assert {name.removeprefix("barnabas.dead_letter."): value for name, value in first.items() if name != "trace"} == {
        "reason": b"this is not JSON of the declared columns (amount INT)",
        "pipeline": b"careful",
        "source": b"payments",
        "topic": payments.encode(),
        "partition": b"0",
        "offset": b"1",
        "timestamp": b"1700000000123",
    }

    # The declaration is fixed; of the three letters, the record without a value stays.
    json_only = Selection(reason=re.compile("not JSON"))
    would = redrive(topics.bootstrap, bad, selection=json_only, dry_run=True)
    assert (would.total, would.left) == (2, 1)
    assert len(topics.read(payments)) == 5, "a dry run sends nothing"
    done = redrive(topics.bootstrap, bad, selection=json_only)
    assert (dict(done.sent), done.left) == ({payments: 2}, 1)
    again = [each for each in topics.read(payments) if "barnabas.redriven" in each.headers]
    assert [(each.key, each.value, each.headers) for each in again] == [
        (b"k", b'{"amount": "much"}', {"trace": b"7", "barnabas.redriven": b"1"}),
        (None, b"\xff\xfe", {"barnabas.redriven": b"1"}),
    ]
    assert redrive(topics.bootstrap, bad, selection=json_only).total == 0, "what was sent is not sent twice"

    pipeline_of(topics, payments, good, bad, "amount STRING").run(session=spark, checkpoint=checkpoint, available_now=True)
    assert [each["amount"] for each in topics.values(good)] == [1, 2, "much"]
    rest = redrive(topics.bootstrap, bad, selection=Selection(attempts_max=1))
    assert (rest.total, rest.left) == (1, 1), "the one that was left before goes out, the one that came back does not"


def test_without_tolerance_the_first_undecodable_record_stops_the_pipeline(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    payments, good = topics.create("payments"), topics.create("good")
    topics.send(payments, [{"amount": 1}, b"nonsense"])
    pipeline = (
        Pipeline("strict", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="amount INT", tolerance="none")
        .sink("out", from_="payments", topic=good, guarantee="at_least_once")
    )
    with pytest.raises(RunFailed) as stopped:
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    assert f"source 'payments' read a record it cannot decode (topic {payments}, partition 0, offset 1)" in str(stopped.value)


def test_redriving_a_missing_topic_is_refused(topics: Topics) -> None:
    with pytest.raises(CannotRun, match="There is no dead-letter topic"):
        redrive(topics.bootstrap, topics.name("nowhere"))
