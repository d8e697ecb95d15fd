"""Pipelines of Barnabas on one local Spark session, which lasts for all rows and rounds.

So the JVM is warm for every system.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from confluent_kafka import Producer

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.running.progress import Progress
from barnabas.pipelines.running.runner import start
from barnabas.pipelines.session import check_spark, open_session
from bench.measurement import MeasurementFailed
from bench.systems import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Guarantee = Literal["at_least_once", "exactly_once"]

FLUSH_SECONDS_MAX = 60.0
RUN_SECONDS_MAX = 300.0
ACCOUNTS = 1000
_SCHEMA = "account STRING, number BIGINT, cents BIGINT, note STRING"
_SETTINGS = {"spark.driver.memory": "2g", "spark.sql.streaming.pollingDelay": "10ms"}


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of a run, as Spark reports them."""

    rows: tuple[int, ...]
    milliseconds: tuple[int, ...]


def why_no_spark() -> str | None:
    try:
        check_spark()
    except PipelineError as missing:
        return str(missing)
    return None


def fill(server: Server, topic: str, rows: int) -> None:
    """Fill a topic with payments: JSON of about 100 bytes, keyed by account."""
    producer = Producer({"bootstrap.servers": server.bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 0, "log_level": 0})
    for number in range(rows):
        account = f"account-{number % ACCOUNTS}"
        payment = {"account": account, "number": number, "cents": number % 10_007, "note": "for the rent of this month"}
        producer.produce(topic, json.dumps(payment), account)
    if producer.flush(FLUSH_SECONDS_MAX):
        raise MeasurementFailed(f"the topic was not filled in {FLUSH_SECONDS_MAX:g} s")


def copy_payments(server: Server, *, source: str, target: str, guarantee: Guarantee, rows_per_batch: int) -> Batches:
    """Decodes the payments in ``source``, computes a column, and writes to ``target``."""
    session = _session()
    folder = Path(tempfile.mkdtemp(prefix="bench-spark-"))
    pipeline = Pipeline("bench", bootstrap=server.bootstrap)
    pipeline.source("payments", topic=source, schema=_SCHEMA, rate=rows_per_batch)
    pipeline.step("rated", sql="SELECT account, number, cents, cents * 3 AS points, upper(note) AS note FROM payments")
    pipeline.sink("copy", from_="rated", topic=target, key="account", guarantee=guarantee)
    reports: list[Progress] = []
    try:
        run = start([pipeline.declaration()], session, checkpoint=str(folder), available_now=True)
        try:
            run.wait([reports.append], seconds_max=RUN_SECONDS_MAX)
        finally:
            run.stop()
    except PipelineError as failed:
        raise MeasurementFailed(str(failed)) from failed
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _batches(reports)


def _batches(reports: Sequence[Progress]) -> Batches:
    done = [each for each in reports if each.input_rows]
    return Batches(tuple(each.input_rows for each in done), tuple(each.batch_ms for each in done))


@cache
def _session() -> SparkSession:
    folder = Path(tempfile.mkdtemp(prefix="bench-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    pipeline = Pipeline("bench").source("any", topic="any", schema=_SCHEMA).sink("any", from_="any", topic="other")
    settings = {**_SETTINGS, "spark.local.dir": str(folder / "local"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    try:
        session = open_session([pipeline.declaration()], settings=settings, log=folder / "spark.log")
    except PipelineError as failed:
        raise MeasurementFailed(str(failed)) from failed
    atexit.register(session.stop)
    return session
