"""Copies a topic through Spark: rows per second, latency, and the cost of exactly once."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import spark_pipelines
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.spark_pipelines import Batches, Guarantee
from bench.systems import System
from bench.topics import new_topic

PARTITIONS = 6
LARGE_BATCHES = 5
ROWS_PER_SMALL_BATCH = 600


@dataclass(frozen=True, slots=True)
class TopicToTopic:
    family = "Spark"
    about = (
        "A pipeline of Barnabas on a local Spark reads JSON of 100 bytes from six partitions, computes a column, and writes JSON to six "
        f"partitions: {LARGE_BATCHES} batches for rows/s, and batches of {ROWS_PER_SMALL_BATCH} rows, of which the median's time from its "
        "planning to its end is the latency. The first batch of a run, in which clients connect, does not count. *At least once* is "
        "Spark's own sink; *exactly once* is a transaction for each partition and batch. Spark is the same process for both brokers."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("Spark, topic to topic, at least once", "rows/s", Better.HIGHER, Goal(1.0)),
            Figure("Spark, a small batch, at least once", "ms", Better.LOWER, Goal(1.0)),
            Figure("Spark, topic to topic, exactly once", "rows/s", Better.HIGHER, Goal(1.0)),
            Figure("Spark, a small batch, exactly once", "ms", Better.LOWER, Goal(1.0)),
            Figure("Spark, exactly once / at least once", "of the rows/s", Better.HIGHER, Goal(ours=0.6)),
        )

    def why_skipped(self) -> str | None:
        return spark_pipelines.why_no_spark()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server = system.server()
        small_rows = effort.spark_small_batches * ROWS_PER_SMALL_BATCH
        # All runs share a target: Spark's producers stay open for a while, and would go on asking
        # for a deleted topic.
        with new_topic(server, PARTITIONS) as many, new_topic(server, PARTITIONS) as few, new_topic(server, PARTITIONS) as target:
            spark_pipelines.fill(server, many, effort.spark_rows)
            spark_pipelines.fill(server, few, small_rows)

            def run(source: str, guarantee: Guarantee, rows_per_batch: int) -> Batches:
                batches = spark_pipelines.copy_payments(
                    server, source=source, target=target, guarantee=guarantee, rows_per_batch=rows_per_batch
                )
                if len(batches.rows) < 2:
                    raise MeasurementFailed(f"Spark made {len(batches.rows)} batches of it, where several were expected")
                return batches

            def measure() -> tuple[float, ...]:
                plain = _rows_per_second(run(many, "at_least_once", effort.spark_rows // LARGE_BATCHES))
                exact = _rows_per_second(run(many, "exactly_once", effort.spark_rows // LARGE_BATCHES))
                plain_ms = _median_ms(run(few, "at_least_once", ROWS_PER_SMALL_BATCH))
                exact_ms = _median_ms(run(few, "exactly_once", ROWS_PER_SMALL_BATCH))
                return plain, plain_ms, exact, exact_ms, exact / plain

            yield measure


def _rows_per_second(batches: Batches) -> float:
    return sum(batches.rows[1:]) / sum(batches.milliseconds[1:]) * 1000


def _median_ms(batches: Batches) -> float:
    return float(statistics.median(batches.milliseconds[1:]))


ROWS = (TopicToTopic(),)
