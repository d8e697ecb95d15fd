"""`barnabas sql` as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.conftest import Broker
from tests.pipelines.exactly_once.pipeline_process import stop_in_order
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS

# This takes minutes on a small machine, so it belongs to `make soak`.
pytestmark = pytest.mark.soak


def ask(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "barnabas", "sql", *arguments]
    return subprocess.run(
        run, capture_output=True, text=True, cwd=folder, timeout=LONG_PATIENCE_SECONDS, env={**os.environ, **environment}, check=False
    )


def test_a_query_is_answered_on_the_command_line(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    orders = topics.create("orders")
    topics.send(orders, [{"status": "paid"}, {"status": "open"}, {"status": "paid"}])
    query = f"SELECT status, count(*) AS n FROM `{orders}` WHERE _timestamp > now() - INTERVAL 1 HOUR GROUP BY 1 ORDER BY 1"
    answered = ask(tmp_path, query, "--json", "--engine", "spark", "--bootstrap", broker.bootstrap)
    assert answered.returncode == 0, answered.stderr
    assert [json.loads(line) for line in answered.stdout.splitlines()] == [{"status": "open", "n": 1}, {"status": "paid", "n": 2}]
    assert answered.stderr == ""


def test_sigterm_to_the_group_ends_a_stream_cleanly(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    orders = topics.create("orders")
    topics.send(orders, [{"status": "paid"}])
    query = [f"SELECT status FROM `{orders}`", "--stream", "--from-beginning", "--json", "--bootstrap", broker.bootstrap]
    stop_in_order([sys.executable, "-m", "barnabas", "sql", *query], tmp_path, LONG_PATIENCE_SECONDS)


def test_invalid_queries_are_refused_before_spark_starts(broker: Broker, tmp_path: Path) -> None:
    refused = ask(tmp_path, "SELECT 1", "--json", "--csv")
    assert (refused.returncode, refused.stderr) == (
        1,
        "barnabas: --json and --csv are two ways to print the same rows: give one of them.\n",
    )
    refused = ask(tmp_path, "SELECT 1", "--engine", "spark", "--bootstrap", broker.bootstrap, JAVA_HOME=str(tmp_path))
    assert refused.returncode == 1
    assert "Java" in refused.stderr
    assert refused.stderr.count("\n") == 1
