"""The throughput and cost of fetches that each return one small record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed, server_cpu
from bench.systems import System
from bench.topics import new_topic

PARTITIONS = 6
# Every connection reads these offsets of its partition, and then begins again.
FETCHED_OFFSETS = 200
# Filling stops at four times as many records as are read: the connections that fill are not equally
# fast, and a fetch beyond the end would wait instead of returning a record.
RECORDS_MIN = 4 * FETCHED_OFFSETS * PARTITIONS
FILL_SECONDS = 0.5
FILLS_MAX = 40


@dataclass(frozen=True, slots=True)
class SmallFetches:
    connections: int
    sessions: bool
    family = "small fetches"
    about = (
        "A closed loop: each connection has one request in flight, which returns one batch with one record of 100 bytes, and then asks for "
        f"the next offset. {PARTITIONS} partitions, read from the page cache. In sessions, a request names only the partition whose offset "
        "changed, as the Java client does; otherwise it is a full fetch, as librdkafka sends it. "
        "The 99th percentile is of the same requests."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        plural, sessions = "s" if self.connections > 1 else "", ", in sessions" if self.sessions else ""
        name = f"{self.family}, {self.connections} connection{plural}{sessions}"
        return (
            Figure(name, "requests/s", Better.HIGHER, Goal(1.0)),
            Figure(f"{name}, p99", "us", Better.LOWER),
            server_cpu(name, "us/request"),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, seconds = system.server(), effort.closed_loop_seconds
        with new_topic(server, PARTITIONS) as topic:
            _fill(server.port, topic)

            def measure() -> tuple[float, ...]:
                before = server.cpu_seconds()
                seen = programs.fetch_loop(
                    port=server.port,
                    topic=topic,
                    fetched_offsets=FETCHED_OFFSETS,
                    sessions=self.sessions,
                    connections=self.connections,
                    partitions=PARTITIONS,
                    seconds=seconds,
                )
                used = server.cpu_seconds() - before
                return seen["requests_per_s"], seen["p99_us"], used / (seen["requests_per_s"] * seconds) * 1e6

            yield measure


def _fill(port: int, topic: str) -> None:
    """Writes batches of one record to every partition."""
    written = 0.0
    for _ in range(FILLS_MAX):
        seen = programs.closed_loop(port=port, topic=topic, connections=PARTITIONS, partitions=PARTITIONS, seconds=FILL_SECONDS)
        written += seen["requests_per_s"] * FILL_SECONDS
        if written >= RECORDS_MIN:
            return
    raise MeasurementFailed(f"{FILLS_MAX * FILL_SECONDS:g} s of producing wrote {written:.0f} of {RECORDS_MIN:,} records")


ROWS = tuple(SmallFetches(connections, sessions) for connections, sessions in ((1, False), (64, False), (64, True)))
