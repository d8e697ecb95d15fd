"""How fast Apache Kafka's own consumer can read a topic from its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, server_cpu
from bench.rows.variants import JAVA_VARIANTS, Variant
from bench.systems import System
from bench.topics import new_topic

MORE_THAN_PRODUCED = 2


@dataclass(frozen=True, slots=True)
class JavaConsume:
    variant: Variant
    family = "Java consume"
    about = (
        "Apache Kafka's Java consumer with default settings and assigned partitions reads a topic that was filled before. A program "
        "of ours does what kafka-consumer-perf-test does, without a consumer group; the clock starts with the first records, and the "
        "client's JVM gets warm on the way."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.variant}"
        return Figure(name, "MB/s", Better.HIGHER, Goal(1.1)), server_cpu(name, "s/GB")

    def why_skipped(self) -> str | None:
        return programs.why_no_java_programs()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, variant = system.server(), self.variant
        records = variant.records(effort.java_megabytes * MORE_THAN_PRODUCED)
        with new_topic(server, variant.partitions) as topic:
            programs.java_producer(
                bootstrap=server.bootstrap, topic=topic, value_bytes=variant.value_bytes, records=records, warm_up_records=0
            )

            def measure() -> tuple[float, ...]:
                before = server.cpu_seconds()
                took = programs.java_consumer(bootstrap=server.bootstrap, topic=topic, partitions=variant.partitions, records=records)
                used = server.cpu_seconds() - before
                value_bytes = took["records"] * variant.value_bytes
                return value_bytes / took["seconds"] / 1e6, used / (value_bytes / 1e9)

            yield measure


ROWS = tuple(JavaConsume(variant) for variant in JAVA_VARIANTS)
