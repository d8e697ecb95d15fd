"""Failures of running pipelines, each reported in one sentence."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipelines import CannotRun, DeclarationError, Pipeline, RunFailed
from barnabas.pipelines.running.preflight import check_topics
from barnabas.pipelines.running.sentences import sentence_of
from tests.pipelines.core.refusing_broker import RefusingBroker
from tests.pipelines.core.running import run_file, write
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def reading(topic: str, bootstrap: str, **kafka: str) -> Pipeline:
    settings = {name.replace("_", "."): value for name, value in kafka.items()}
    return Pipeline("p", bootstrap=bootstrap, kafka=settings).source("s", topic=topic, format="text").sink("c", from_="s", console={})


def test_a_missing_topic_is_named_with_its_line(topics: Topics) -> None:
    with pytest.raises(DeclarationError) as wrong:
        check_topics(reading("nowhere", topics.bootstrap).declaration())
    expected = f"there is no topic 'nowhere' at {topics.bootstrap}; create it with `barnabas topics create nowhere --bootstrap"
    assert wrong.value.sentence.startswith(expected)
    assert wrong.value.path == __file__


def test_topics_of_sinks_are_created(topics: Topics) -> None:
    source, out = topics.create("in"), topics.name("made")
    pipeline = Pipeline("p", bootstrap=topics.bootstrap).source("s", topic=source, format="text").sink("o", from_="s", topic=out)
    check_topics(pipeline.declaration())
    assert topics.read(out) == []


def test_an_unreachable_broker_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.running.preflight.ANSWER_SECONDS_MAX", 10.0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(CannotRun) as wrong:
            check_topics(reading("t", address).declaration())
    assert str(wrong.value).startswith(f"No broker answers at {address} within 10 seconds (")
    assert "refused" in str(wrong.value)


def test_wrong_credentials_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.running.preflight.ANSWER_SECONDS_MAX", 20.0)
    with RefusingBroker("Authentication failed: wrong password") as broker:
        secret = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": "wrong"}
        with pytest.raises(CannotRun) as wrong:
            check_topics(reading("t", broker.address, **secret).declaration())
    assert str(wrong.value).startswith(f"The broker at {broker.address} refuses the credentials: ")
    assert "wrong password" in str(wrong.value)


def test_invalid_sql_is_reported_with_its_line(spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    numbers = topics.create("numbers")
    text = f"""\
        name: wrong
        bootstrap: {topics.bootstrap}
        sources:
          s: {{topic: {numbers}, schema: "n INT"}}
        steps:
          - view: v
            sql: SELECT m FROM s
        sinks:
          out: {{from: v, console: {{}}}}
        """
    file = write(tmp_path, text)
    with pytest.raises(DeclarationError) as wrong:
        run_file(file, spark, checkpoint)
    assert wrong.value.line == 6
    assert wrong.value.sentence.startswith("step 'v': A column, variable, or function parameter with name `m` cannot be resolved")
    file = write(tmp_path, text.replace("SELECT m FROM s", "SELEC m"))
    with pytest.raises(DeclarationError, match=r"step 'v': Syntax error at or near 'SELEC'"):
        run_file(file, spark, checkpoint)
    file = write(tmp_path, text.replace("SELECT m FROM s", "SELECT n, count(*) FROM s GROUP BY n"))
    with pytest.raises(DeclarationError, match=r"yaml:9: sink 'out': .*watermark"):
        run_file(file, spark, checkpoint)


def test_an_undecodable_record_stops_the_pipeline_unless_it_is_tolerated(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    numbers, out = topics.create("numbers"), topics.create("out")
    topics.send(numbers, [{"n": 1}, b"no json", {"n": "text"}, {"m": 2}, None])

    def pipeline(tolerance: str) -> Pipeline:
        made = Pipeline(tolerance, bootstrap=topics.bootstrap).source("s", topic=numbers, schema="n INT", tolerance=tolerance)
        return made.sink("out", from_="s", topic=out, guarantee="exactly_once")

    with pytest.raises(RunFailed) as failed:
        pipeline("none").run(session=spark, checkpoint=checkpoint, available_now=True)
    assert str(failed.value) == (
        f"Pipeline 'none' failed at 'out': source 's' read a record it cannot decode (topic {numbers}, partition 0, offset 1): "
        "this is not JSON of the declared columns (n INT)."
    )
    assert topics.read(out) == [], "the good record beside it waits with it"
    pipeline("all").run(session=spark, checkpoint=checkpoint, available_now=True)
    assert topics.values(out) == [{"n": 1}, {"n": None}], "a field that is missing is null, as JSON has it"


@pytest.mark.parametrize("guarantee", ["exactly_once", pytest.param("at_least_once", marks=pytest.mark.soak)])
def test_a_row_that_sql_cannot_compute_is_reported_with_sparks_message(
    spark: SparkSession, topics: Topics, checkpoint: str, guarantee: str
) -> None:
    numbers, out = topics.create("numbers"), topics.create("out")
    topics.send(numbers, [{"n": 1}, {"n": 0}])
    pipeline = Pipeline("p", bootstrap=topics.bootstrap).source("s", topic=numbers, schema="n INT").step("v", sql="SELECT 1 / n FROM s")
    with pytest.raises(RunFailed, match=r"^Pipeline 'p' failed at 'out': Division by zero. Use `try_divide` to "):
        pipeline.sink("out", from_="v", topic=out, guarantee=guarantee).run(session=spark, checkpoint=checkpoint, available_now=True)


LOST_TASK = """\
Traceback (most recent call last):
  File x
py4j.protocol.Py4JJavaError: An error occurred while calling o7.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 5.0 failed 1 times, most recent failure: Lost task \
1.0 in stage 5.0 (TID 8) (127.0.0.1 executor driver): java.io.EOFException: the end
\tat a.b(C.java)
"""

BATCH_OF_OURS = """\
An error occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python Proxy. Return \
Message: Traceback (most recent call last):
  File x
py4j.protocol.Py4JJavaError: An error occurred while calling o7.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 4.0 failed 1 times, most recent failure: Lost task \
1.0 in stage 4.0 (TID 6) (127.0.0.1 executor driver): org.apache.spark.SparkException: [CANNOT_WRITE] Cannot write.
Caused by: java.io.IOException: the bucket is gone
\tat a.b(C.java)
py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File x
Caused by: java.io.IOException: the bucket is gone
Caused by: py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File x
"""
ROW_OF_OURS = """\
An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File x
pyspark.errors.exceptions.captured.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012
== SQL (line 1, position 8) ==
py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[STREAM_FAILED] Query [id = 1] terminated with exception: the disk is full SQLSTATE: XXKST", "the disk is full."),
        ("x\norg.apache.kafka.common.errors.SaslAuthenticationException: no", "the broker refuses the credentials."),
        (
            "x\norg.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
            "no broker answered in time: Timed out waiting for a node assignment. Call: describeTopics.",
        ),
        (
            "Could not execute broadcast in 300 secs.\njava.util.concurrent.TimeoutException: Futures timed out\n\tat a.b(C.java)",
            "it timed out: Could not execute broadcast in 300 secs. (TimeoutException: Futures timed out).",
        ),
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker failed to connect back.",
            "a Python worker did not start within Spark's ten seconds; is this machine too busy?",
        ),
        ("java.net.SocketTimeoutException: connect timed out", "it timed out: SocketTimeoutException: connect timed out."),
        ("java.lang.IllegalStateException: odd\n\tat a.b(C.java)", "IllegalStateException: odd."),
        (
            "Traceback (most recent call last):\n  File x\nValueError: no such zone\n",
            "ValueError: no such zone (.barnabas/spark.log has the traceback).",
        ),
        (LOST_TASK, "EOFException: the end."),
        (BATCH_OF_OURS, "IOException: the bucket is gone."),
        (ROW_OF_OURS, "Division by zero. Use `try_divide`."),
        ("[NOT_FOUND] There is no `x`. SQLSTATE: 42P01; line 1 pos 14;\n'Project", "There is no `x` (line 1, position 14)."),
    ],
)
def test_a_java_stack_trace_becomes_one_sentence(text: str, sentence: str) -> None:
    assert sentence_of(RuntimeError(text)) == sentence
