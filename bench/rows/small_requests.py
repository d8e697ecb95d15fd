"""The throughput and latency of small produce requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, server_cpu
from bench.systems import System
from bench.topics import new_topic

PARTITIONS = 6
# Goals by the number of connections. With one, latency counts; with many, Apache Kafka has more
# threads to use.
GOALS = {1: 1.2, 8: 1.1, 64: 1.0}


@dataclass(frozen=True, slots=True)
class SmallRequests:
    connections: int
    family = "small requests"
    about = (
        "A closed loop: each connection has one request in flight, with one record of 100 bytes (acks=all), and sends the next when "
        f"it is answered. {PARTITIONS} partitions. The 99th percentile is of the same requests."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.connections} connection{'s' if self.connections > 1 else ''}"
        return (
            Figure(name, "requests/s", Better.HIGHER, Goal(GOALS[self.connections])),
            Figure(f"{name}, p99", "us", Better.LOWER),
            server_cpu(name, "us/request"),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, seconds = system.server(), effort.closed_loop_seconds
        with new_topic(server, PARTITIONS) as topic:

            def measure() -> tuple[float, ...]:
                before = server.cpu_seconds()
                seen = programs.closed_loop(
                    port=server.port,
                    topic=topic,
                    connections=self.connections,
                    partitions=PARTITIONS,
                    seconds=seconds,
                )
                used = server.cpu_seconds() - before
                return seen["requests_per_s"], seen["p99_us"], used / (seen["requests_per_s"] * seconds) * 1e6

            yield measure


ROWS = tuple(SmallRequests(connections) for connections in GOALS)
