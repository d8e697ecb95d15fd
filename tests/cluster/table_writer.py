"""A writer for topics whose old records disappear, because they are compacted or deleted."""

from __future__ import annotations

from tests.cluster.compacted_table import key_of
from tests.cluster.workers import IdempotentSender

VALUE_BYTES = 900


class TableWriter(IdempotentSender):
    """Writes the keys of a table again and again."""

    SENDS_PER_SECOND = 200
    # Batches of ten: the topics need bytes to clean, and requests would only cost time.
    LINGER_MS = 50

    def record(self, value: int) -> tuple[bytes, bytes | None]:
        return b"%d" % value + b" " * VALUE_BYTES, b"%d" % key_of(value)
