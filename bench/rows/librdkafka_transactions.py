"""How many transactions librdkafka gets done, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.rows.variants import SMALL_VALUE_BYTES
from bench.systems import System
from bench.topics import new_topic


@dataclass(frozen=True, slots=True)
class LibrdkafkaTransactions:
    family = "librdkafka transactions"
    about = (
        f"One producer begins a transaction, sends one record of {SMALL_VALUE_BYTES} bytes to one partition, commits, and begins the next "
        "(linger 0). librdkafka names the partition to the coordinator first, and the coordinator answers a commit before its markers "
        "are written: a transaction that begins too soon after is refused, and librdkafka waits 20 ms before it tries again."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(self.family, "transactions/s", Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        def measure() -> tuple[float, ...]:
            server = system.server()
            with new_topic(server, 1) as topic:
                took = programs.librdkafka_load(
                    "transactions",
                    bootstrap=server.bootstrap,
                    topic=topic,
                    partitions=1,
                    value_bytes=SMALL_VALUE_BYTES,
                    records=effort.transactions,
                )
            return (took["transactions"] / took["seconds"],)

        yield measure


ROWS = (LibrdkafkaTransactions(),)
