"""A writer for topics whose old records disappear, because they are compacted or deleted."""

from __future__ import annotations

from tests.cluster.compacted_table import key_of
from tests.cluster.workers import IdempotentSender

# The topics need bytes to clean, and small records cost more of the processor than the brokers do:
# each wakes up librdkafka's threads, and is reported.
VALUE_BYTES = 4500
BURST = 4
BURSTS_PER_SECOND = 10


class TableWriter(IdempotentSender):
    """Writes the keys of a table again and again."""

    def go_round(self) -> None:
        for _ in range(BURST):
            self.send(self.keys[0])
        self._producer.poll(0)
        self._stop.wait(1 / BURSTS_PER_SECOND)

    def record(self, value: int) -> tuple[bytes, bytes | None]:
        return b"%d" % value + b" " * VALUE_BYTES, b"%d" % key_of(value)
