"""The latency of a record from a producer to a waiting consumer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.systems import System
from bench.topics import new_topic


@dataclass(frozen=True, slots=True)
class Latency:
    family = "end-to-end latency"
    about = (
        "librdkafka sends one record of 100 bytes at a time (acks=1, linger 0) and waits until librdkafka's consumer, in the same "
        "process and already waiting, has received it. Otherwise default settings."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(f"{self.family}, p50", "us", Better.LOWER),
            Figure(f"{self.family}, p90", "us", Better.LOWER),
            Figure(f"{self.family}, p99", "us", Better.LOWER, Goal(0.8)),
            Figure(f"{self.family}, p99.9", "us", Better.LOWER),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        def measure() -> tuple[float, ...]:
            server = system.server()
            # Each measurement has a new topic, because the consumer begins at offset 0 and must
            # find nothing there.
            with new_topic(server, 1) as topic:
                seen = programs.librdkafka_load(
                    "latency", bootstrap=server.bootstrap, topic=topic, partitions=1, value_bytes=100, records=effort.latency_records
                )
            return seen["p50_us"], seen["p90_us"], seen["p99_us"], seen["p999_us"]

        yield measure


ROWS = (Latency(),)
