"""Streams without Spark: which queries they are, and what a step prints."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from tests.waiting import PATIENCE_SECONDS

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.sql.embedded.streaming import changed_rows, needs_all_records
from barnabas.pipelines.sql.syntax import read_statement


@pytest.mark.parametrize(
    ("query", "all_records"),
    [
        ("SELECT a, b + 1 FROM t WHERE c > 2", False),
        ("SELECT a, count(*) FROM t GROUP BY a", True),
        ("SELECT max(a) FROM t", True),
        ("SELECT DISTINCT a FROM t", True),
        ("SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n DESC LIMIT 3", True),
    ],
)
def test_aggregates_need_all_records_and_rows_need_new_ones(query: str, all_records: bool) -> None:
    assert needs_all_records(read_statement(query)) is all_records


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t ORDER BY a",
        "SELECT * FROM t LIMIT 3",
        "SELECT * FROM t JOIN u ON t.a = u.a",
        "SELECT * FROM (SELECT a FROM t)",
        "WITH x AS (SELECT a FROM t) SELECT * FROM x",
        "SELECT row_number() OVER (ORDER BY a) FROM t",
        "SELECT a FROM t UNION SELECT a FROM t",
        "SELECT 1",
    ],
)
def test_other_streams_are_left_to_spark(query: str) -> None:
    with pytest.raises(CannotRun):
        needs_all_records(read_statement(query))


def test_changed_rows_are_those_that_the_last_answer_lacks() -> None:
    assert changed_rows([("a", 1), ("b", [2]), ("b", [2])], [("a", 2), ("b", [2]), ("c", 1)]) == [("a", 2), ("c", 1)]
    assert changed_rows([], [(1,), (1,)]) == [(1,), (1,)]


def test_a_stream_prints_new_answers_and_ends_with_a_signal(kafka: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce("streamed", b'{"status": "open"}')
    producer.flush()
    command = [sys.executable, "-m", "barnabas", "sql", "-b", kafka.bootstrap, "--engine", "embedded", "--json-rows", "--stream"]
    query = "SELECT status, count(*) AS n FROM streamed GROUP BY status"
    with subprocess.Popen([*command, "--from-beginning", query], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        columns = json.loads(process.stdout.readline())
        assert columns == {"columns": [{"name": "status", "type": "string"}, {"name": "n", "type": "bigint"}]}
        assert json.loads(process.stdout.readline()) == ["open", 1]
        producer.produce("streamed", b'{"status": "open"}')
        producer.flush()
        assert json.loads(process.stdout.readline()) == columns
        assert json.loads(process.stdout.readline()) == ["open", 2]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
