"""How fast share consumers empty a topic, and how fast their acknowledgements are confirmed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.requests import await_group_coordinator
from bench.share_groups import begin_at_the_start
from bench.systems import System
from bench.topics import new_topic

VALUE_BYTES = 100
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class ShareConsume:
    client: str
    consumers: int
    partitions: int
    mode: str
    family = "share consume"
    about = (
        f"A topic is filled with values of {VALUE_BYTES} bytes, and the consumers of a new share group empty it, each in a thread of one "
        "process, with default settings. Implicit: the next poll accepts the records of the last. Explicit: each record is accepted by "
        "a call, and the next poll sends the acknowledgements. The clock starts with the first records; the first figure ends with the "
        "last delivery, the second with the last acknowledgement that the server confirmed."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        consumers = f"{self.consumers} consumer{'s' if self.consumers > 1 else ''}"
        partitions = f"{self.partitions} partition{'s' if self.partitions > 1 else ''}"
        # Short, because a row of the page has at most 160 characters.
        client = "librdkafka" if self.client == "confluent-kafka" else self.client
        name = f"{client} share, {consumers}, {partitions}, {self.mode}"
        return (
            Figure(name, "records/s", Better.HIGHER, Goal(1.2)),
            Figure(f"{name}, acked", "records/s", Better.HIGHER, Goal(1.2)),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_java_programs() or programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server = system.server()
        records = effort.share_records
        with new_topic(server, self.partitions) as topic:
            programs.librdkafka_load(
                "produce",
                bootstrap=server.bootstrap,
                topic=topic,
                partitions=self.partitions,
                value_bytes=VALUE_BYTES,
                records=records,
            )

            def measure() -> tuple[float, ...]:
                group = f"share-{next(_numbers)}"
                await_group_coordinator(server, group)
                begin_at_the_start(server, group)
                took = programs.share_consumers(
                    self.client,
                    bootstrap=server.bootstrap,
                    topic=topic,
                    group=group,
                    consumers=self.consumers,
                    mode=self.mode,
                    records=records,
                )
                return took["records"] / took["seconds"], took["acknowledged"] / took["acknowledged_seconds"]

            yield measure


ROWS = tuple(
    ShareConsume(client, consumers, partitions, mode)
    for client in ("confluent-kafka", "Java")
    for consumers, partitions in ((1, 1), (20, 1), (1, 6), (20, 6))
    for mode in ("implicit", "explicit")
)
