"""How fast librdkafka can read a topic from its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, server_cpu
from bench.rows.variants import VARIANTS, Variant
from bench.systems import System
from bench.topics import new_topic

# Reading is faster than writing, so more must be read to take as long.
MORE_THAN_PRODUCED = 2


@dataclass(frozen=True, slots=True)
class LibrdkafkaConsume:
    variant: Variant
    family = "librdkafka consume"
    about = (
        "A C program reads a topic that librdkafka filled before, from the page cache, partitions assigned by hand, the client's "
        "queue large enough that it never pauses. The clock starts with the first record; MB/s counts values after decompression."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.variant}"
        return Figure(name, "MB/s", Better.HIGHER, Goal(1.1)), server_cpu(name, "s/GB")

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, variant = system.server(), self.variant
        records = variant.records(effort.megabytes(variant.value_bytes) * MORE_THAN_PRODUCED)

        def load(command: str, topic: str) -> dict[str, float]:
            return programs.librdkafka_load(
                command,
                bootstrap=server.bootstrap,
                topic=topic,
                partitions=variant.partitions,
                value_bytes=variant.value_bytes,
                records=records,
                codec=variant.codec,
            )

        with new_topic(server, variant.partitions) as topic:
            load("produce", topic)

            def measure() -> tuple[float, ...]:
                before = server.cpu_seconds()
                took = load("consume", topic)
                used = server.cpu_seconds() - before
                value_bytes = took["records"] * variant.value_bytes
                return value_bytes / took["seconds"] / 1e6, used / (value_bytes / 1e9)

            yield measure


ROWS = tuple(LibrdkafkaConsume(variant) for variant in VARIANTS)
