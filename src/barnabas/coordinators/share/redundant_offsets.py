"""The part of a shard's log that no reader needs any more.

A snapshot supersedes all earlier records of its share partition, and a tombstone too. So everything
below the oldest of the latest snapshots is redundant. One share partition that is never written
again would hold back that point for ever; cold snapshots move it on (see ``machine.py``).
"""

from __future__ import annotations

from barnabas.coordinators.share.persister import SharePartitionKey


class RedundantOffsets:
    def __init__(self) -> None:
        self._latest: dict[SharePartitionKey, int] = {}
        self._last_tombstone = 0

    def snapshot(self, key: SharePartitionKey, offset: int) -> None:
        self._latest[key] = offset

    def tombstone(self, key: SharePartitionKey, offset: int) -> None:
        self._latest.pop(key, None)
        self._last_tombstone = offset

    @property
    def needed_from(self) -> int:
        """The first offset that is needed. As in Kafka, an empty shard keeps its last tombstone."""
        return min(self._latest.values(), default=self._last_tombstone)
