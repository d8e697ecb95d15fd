"""The throughput of small records in large batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.systems import System
from bench.topics import new_topic

CONNECTIONS = 4
# A record has 107 bytes with its framing: the batch is just below the default limit of 1 MiB.
RECORDS_PER_BATCH = 9000


@dataclass(frozen=True, slots=True)
class BigBatches:
    family = "big batches"
    about = (
        f"The same closed loop on {CONNECTIONS} connections, each to a partition of its own, with batches of {RECORDS_PER_BATCH:,} "
        "records of 100 bytes (just under 1 MB, acks=all)."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("big batches of 100 B records", "records/s", Better.HIGHER, Goal(1.2, ours=3e6)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        def measure() -> tuple[float, ...]:
            server = system.server()
            # Each measurement writes hundreds of megabytes a second, so it has its own topic that
            # is deleted after it.
            with new_topic(server, CONNECTIONS) as topic:
                seen = programs.closed_loop(
                    port=server.port,
                    topic=topic,
                    connections=CONNECTIONS,
                    partitions=CONNECTIONS,
                    seconds=effort.closed_loop_seconds,
                    records=RECORDS_PER_BATCH,
                )
            return (seen["records_per_s"],)

        yield measure


ROWS = (BigBatches(),)
