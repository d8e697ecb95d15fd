"""What a gigabyte costs the server: processor time, and the memory it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.rows.variants import LARGE_VALUE_BYTES, Variant
from bench.systems import System
from bench.topics import new_topic


@dataclass(frozen=True, slots=True)
class Resources:
    family = "cost"
    about = (
        "librdkafka produces values of 1 KB to one partition and then consumes them. Processor time is the server's, user and system,"
        " all threads and child processes, for each GB that was produced and consumed. Memory is the server's resident set right "
        "after, in the process that served the rows before."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("server CPU, 1 GB produced and consumed", "s/GB", Better.LOWER, Goal(0.6)),
            Figure("resident memory after load", "MB", Better.LOWER, Goal(0.15)),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        variant = Variant(LARGE_VALUE_BYTES, 1)

        def measure() -> tuple[float, ...]:
            server = system.server()
            with new_topic(server, variant.partitions) as topic:
                before = server.cpu_seconds()
                for command in ("produce", "consume"):
                    programs.librdkafka_load(
                        command,
                        bootstrap=server.bootstrap,
                        topic=topic,
                        partitions=variant.partitions,
                        value_bytes=variant.value_bytes,
                        records=variant.records(effort.megabytes_for_resources),
                    )
                used = server.cpu_seconds() - before
                return used / (effort.megabytes_for_resources / 1e3), server.resident_bytes() / 1e6

        yield measure


ROWS = (Resources(),)
