"""How fast Apache Kafka's own producer can hand records over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed, server_cpu
from bench.rows.variants import JAVA_VARIANTS, Variant
from bench.systems import System
from bench.topics import new_topic

# The first part is for the client's own JVM to get warm in.
WARM_UP_SHARE = 1 / 3
_STEADY_STATE = re.compile(r"steady state records sent, ([0-9.]+) records/sec")


def steady_records_per_second(printed: str) -> float:
    found = _STEADY_STATE.search(printed)
    if found is None:
        raise MeasurementFailed(f"ProducerPerformance printed no steady state: {printed[-200:]!r}")
    return float(found[1])


@dataclass(frozen=True, slots=True)
class JavaProduce:
    variant: Variant
    family = "Java produce"
    about = (
        "`org.apache.kafka.tools.ProducerPerformance` as kafka-producer-perf-test runs it, with the producer's default settings "
        "(acks=all, idempotent, 16 KB batches): its own figure for the steady state, after a third of the records."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.variant}"
        return Figure(name, "MB/s", Better.HIGHER, Goal(1.2)), server_cpu(name, "s/GB")

    def why_skipped(self) -> str | None:
        return programs.why_no_java_producer()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        variant = self.variant
        records = variant.records(effort.java_megabytes)

        def measure() -> tuple[float, ...]:
            server = system.server()
            with new_topic(server, variant.partitions) as topic:
                before = server.cpu_seconds()
                printed = programs.java_producer(
                    bootstrap=server.bootstrap,
                    topic=topic,
                    value_bytes=variant.value_bytes,
                    records=records,
                    warm_up_records=int(records * WARM_UP_SHARE),
                )
                used = server.cpu_seconds() - before
            return steady_records_per_second(printed) * variant.value_bytes / 1e6, used / (records * variant.value_bytes / 1e9)

        yield measure


ROWS = tuple(JavaProduce(variant) for variant in JAVA_VARIANTS)
