"""The rows of the peers' page, and the systems that take part in each.

Megabytes per second are noise on a busy machine, so each row has the server's processor time too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import KafkaException

from bench import programs
from bench.measurement import Better, Effort, Figure, Measure, MeasurementFailed, Row
from bench.peers.systems import Work, can_do, driver_of
from bench.rows import start
from bench.rows.variants import LARGE_VALUE_BYTES, SMALL_VALUE_BYTES, Variant
from bench.systems import System
from bench.topics import new_topic

KILLED_RECORDS = 10_000
_CONNECTIONS = (1, 8)
_PARTITIONS = 6


class PeerRow(Row, Protocol):
    @property
    def work(self) -> Work: ...


@dataclass(frozen=True, slots=True)
class Start:
    """The row of the benchmarks without its goals, which are about Apache Kafka."""

    family = start.Start.family
    about = start.Start.about
    work = Work.KAFKA_REQUESTS

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(Figure(each.name, each.unit, each.better) for each in start.Start().figures)

    def why_skipped(self) -> str | None:
        return start.Start().why_skipped()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with start.Start().session(system, effort) as measure:
            yield measure


@dataclass(frozen=True, slots=True)
class Throughput:
    """``command`` is produce or consume."""

    command: str
    value_bytes: int
    work = Work.STREAM

    @property
    def family(self) -> str:
        return self.command

    @property
    def about(self) -> str:
        if self.command == "produce":
            return (
                "Kafka's servers get the load of *librdkafka produce* in the benchmarks, to one partition. "
                "JetStream's client publishes asynchronously, and the server acknowledges each message."
            )
        return (
            "Kafka's servers get the load of *librdkafka consume* in the benchmarks, from one partition that was filled before. "
            "JetStream's client reads a stream with an ordered consumer, which acknowledges nothing."
        )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.command}, {'1 KB' if self.value_bytes == LARGE_VALUE_BYTES else f'{self.value_bytes} B'}"
        return (Figure(name, "MB/s", Better.HIGHER), Figure(f"{name}, server CPU", "s/GB", Better.LOWER))

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, driver, size = system.server(), driver_of(system), self.value_bytes
        records = Variant(size, 1).records(effort.megabytes(size))

        def measure_in(log: str) -> tuple[float, ...]:
            before = server.cpu_seconds()
            took = driver.run(self.command, server, log, value_bytes=size, records=records)
            used = server.cpu_seconds() - before
            return took["records"] * size / took["seconds"] / 1e6, used / (records * size / 1e9)

        def measure_in_new_log() -> tuple[float, ...]:
            with driver.new_log(server) as log:
                return measure_in(log)

        if self.command == "produce":
            yield measure_in_new_log
            return
        with driver.new_log(server) as filled:
            driver.run("produce", server, filled, value_bytes=size, records=records)
            yield lambda: measure_in(filled)


@dataclass(frozen=True, slots=True)
class SmallRequests:
    connections: int
    family = "small requests"
    about = (
        "The closed loop of the benchmarks: each connection has one request in flight, with one record of 100 bytes (acks=all). "
        f"{_PARTITIONS} partitions."
    )
    work = Work.KAFKA_REQUESTS

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.connections} connection{'s' if self.connections > 1 else ''}"
        return (
            Figure(name, "requests/s", Better.HIGHER),
            Figure(f"{name}, p99", "us", Better.LOWER),
            Figure(f"{name}, server CPU", "us/request", Better.LOWER),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, seconds = system.server(), effort.closed_loop_seconds
        with new_topic(server, _PARTITIONS) as topic:

            def measure() -> tuple[float, ...]:
                before = server.cpu_seconds()
                seen = programs.closed_loop(
                    port=server.port, topic=topic, connections=self.connections, partitions=_PARTITIONS, seconds=seconds
                )
                used = server.cpu_seconds() - before
                return seen["requests_per_s"], seen["p99_us"], used / (seen["requests_per_s"] * seconds) * 1e6

            yield measure


@dataclass(frozen=True, slots=True)
class Latency:
    family = "end-to-end latency"
    about = (
        "One record of 100 bytes at a time, from the producer to a consumer in the same process that waits for it. "
        "Kafka's servers get librdkafka (acks=1, linger 0), JetStream its own client in Go."
    )
    work = Work.STREAM

    @property
    def figures(self) -> tuple[Figure, ...]:
        percentiles = tuple(Figure(f"{self.family}, {name}", "us", Better.LOWER) for name in ("p50", "p90", "p99"))
        return (*percentiles, Figure(f"{self.family}, server CPU", "us/record", Better.LOWER))

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, driver = system.server(), driver_of(system)

        def measure() -> tuple[float, ...]:
            with driver.new_log(server) as log:
                before = server.cpu_seconds()
                seen = driver.run("latency", server, log, value_bytes=SMALL_VALUE_BYTES, records=effort.latency_records)
                used = server.cpu_seconds() - before
            return seen["p50_us"], seen["p90_us"], seen["p99_us"], used / effort.latency_records * 1e6

        yield measure


@dataclass(frozen=True, slots=True)
class Memory:
    family = "memory"
    about = "The resident set of the server that served the rows above, when all their topics are deleted."
    work = Work.STREAM

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("resident memory after the rows above", "MB", Better.LOWER),)

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        yield lambda: (system.server().resident_bytes() / 1e6,)


@dataclass(frozen=True, slots=True)
class KeptAfterKill:
    family = "kill -9"
    about = (
        f"A new server acknowledges {KILLED_RECORDS:,} records, is killed with SIGKILL, and starts again on its directory. "
        "This shows whether the records reached the kernel; a machine without power would need an fsync too, and no row shows that."
    )
    work = Work.STREAM

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("acknowledged records that a killed server still has", "%", Better.HIGHER),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        driver = driver_of(system)

        def measure() -> tuple[float, ...]:
            kept: list[float] = []
            try:
                with system.fresh_server() as server:
                    server.await_port()
                    with driver.new_log(server) as log:
                        driver.run("produce", server, log, value_bytes=SMALL_VALUE_BYTES, records=KILLED_RECORDS)
                        acknowledged = driver.count(server, log)
                        if acknowledged < KILLED_RECORDS:
                            raise MeasurementFailed(f"only {acknowledged} of {KILLED_RECORDS} records are there before the kill")
                        server.restart()
                        kept.append(driver.count(server, log) / acknowledged * 100)
            except (KafkaException, MeasurementFailed):
                # A server that lost the log cannot delete it.
                if not kept:
                    raise
            return (kept[0],)

        yield measure


# The server that is killed comes first, like those that start: no other server runs yet.
ALL: tuple[PeerRow, ...] = (
    Start(),
    KeptAfterKill(),
    *(Throughput(command, size) for command in ("produce", "consume") for size in (SMALL_VALUE_BYTES, LARGE_VALUE_BYTES)),
    *(SmallRequests(connections) for connections in _CONNECTIONS),
    Latency(),
    Memory(),
)


def taking_part(row: PeerRow, systems: Sequence[System]) -> list[System]:
    return [system for system in systems if can_do(system, row.work)]
