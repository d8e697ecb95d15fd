"""How many transactions Apache Kafka's own producer gets done, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.rows.variants import SMALL_VALUE_BYTES
from bench.systems import System
from bench.topics import new_topic

# As many before as are counted, for the client's own JVM to get warm in.
WARM_UP_SHARE = 1.0


@dataclass(frozen=True, slots=True)
class JavaTransactions:
    family = "Java transactions"
    about = (
        "The same with Apache Kafka's Java producer and `transaction.version` 2: the partition joins the transaction with its first "
        "record, and every commit brings a new producer epoch. As many transactions run before the clock starts as are counted."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(self.family, "transactions/s", Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_java_programs()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        def measure() -> tuple[float, ...]:
            server = system.server()
            with new_topic(server, 1) as topic:
                took = programs.java_transactions(
                    bootstrap=server.bootstrap,
                    topic=topic,
                    value_bytes=SMALL_VALUE_BYTES,
                    transactions=effort.java_transactions,
                    warm_up_transactions=int(effort.java_transactions * WARM_UP_SHARE),
                )
            return (took["transactions"] / took["seconds"],)

        yield measure


ROWS = (JavaTransactions(),)
