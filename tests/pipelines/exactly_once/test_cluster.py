"""The same file on a Spark cluster, through spark-submit, while an executor is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

import barnabas.pipelines
from tests.pipelines.exactly_once.pipeline_process import PipelineProcess, kill
from tests.pipelines.exactly_once.spark_cluster import spark_cluster
from tests.pipelines.exactly_once.tortured import Tortured
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS

SUBMITTED = str(Path(barnabas.pipelines.__file__).with_name("__main__.py"))
ROWS = 600


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_killing_an_executor_loses_and_duplicates_nothing(topics: Topics, tmp_path: Path, jars: list[str]) -> None:
    tortured = Tortured(topics, tmp_path, jars)
    tortured.send(ROWS)
    with spark_cluster(tmp_path) as cluster:
        command = cluster.submit(SUBMITTED, str(tortured.file), "--available-now", "--checkpoint", tortured.checkpoint, jars=jars)
        with PipelineProcess(tmp_path, command, cluster.environment) as process:
            tortured.await_progress(process)
            executors = cluster.executors()
            kill(executors[0])
            assert process.wait(LONG_PATIENCE_SECONDS) == 0, process.output()
            assert len(executors) == 2
    tortured.check_copy()
    tortured.check_totals()
