"""How fast librdkafka can hand records over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, server_cpu
from bench.rows.variants import VARIANTS, Variant
from bench.systems import System
from bench.topics import new_topic


@dataclass(frozen=True, slots=True)
class LibrdkafkaProduce:
    variant: Variant
    family = "librdkafka produce"
    about = (
        "A C program hands records to librdkafka (acks=all, linger 5 ms, its default batch size) until all are acknowledged. Values "
        "are JSON-like text, and MB/s counts them before compression."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.variant}"
        return Figure(name, "MB/s", Better.HIGHER, Goal(1.2)), server_cpu(name, "s/GB")

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        variant, megabytes = self.variant, effort.megabytes(self.variant.value_bytes)

        def measure() -> tuple[float, ...]:
            server = system.server()
            with new_topic(server, variant.partitions) as topic:
                before = server.cpu_seconds()
                took = programs.librdkafka_load(
                    "produce",
                    bootstrap=server.bootstrap,
                    topic=topic,
                    partitions=variant.partitions,
                    value_bytes=variant.value_bytes,
                    records=variant.records(megabytes),
                    codec=variant.codec,
                )
                used = server.cpu_seconds() - before
            value_bytes = took["records"] * variant.value_bytes
            return value_bytes / took["seconds"] / 1e6, used / (value_bytes / 1e9)

        yield measure


ROWS = tuple(LibrdkafkaProduce(variant) for variant in VARIANTS)
