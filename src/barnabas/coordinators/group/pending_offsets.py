"""Offsets of open transactions: they count once the transaction's marker is in the log.

The producer id alone identifies a transaction. The epoch does not: since KIP-890 the marker carries
the next epoch, not that of the transaction's records.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.coordinators.group.committed_offset import CommittedOffset
from barnabas.model.ids import TopicPartition


class PendingOffsets:
    def __init__(self) -> None:
        self._by_producer: dict[int, dict[tuple[str, TopicPartition], CommittedOffset]] = {}
        # The reverse index: the producers whose transactions hold an offset of a group.
        self._producers: dict[str, dict[TopicPartition, set[int]]] = {}

    def put(self, producer_id: int, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        self._by_producer.setdefault(producer_id, {})[group_id, partition] = committed
        self._producers.setdefault(group_id, {}).setdefault(partition, set()).add(producer_id)

    def holds(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction may replace the committed offset."""
        of_group = self._producers.get(group_id)
        return of_group is not None and partition in of_group

    def partitions_of(self, group_id: str) -> list[TopicPartition]:
        return list(self._producers.get(group_id, ()))

    def groups(self) -> list[str]:
        return list(self._producers)

    def forget(self, group_id: str, partition: TopicPartition) -> None:
        """The offset was deleted; no transaction may restore it."""
        for producer_id in self._producers.get(group_id, {}).get(partition, set()).copy():
            offsets = self._by_producer[producer_id]
            del offsets[group_id, partition]
            if not offsets:
                del self._by_producer[producer_id]
            self._release(producer_id, group_id, partition)

    def end(self, producer_id: int) -> Iterator[tuple[str, TopicPartition, CommittedOffset]]:
        """Remove and return the offsets of a transaction that has ended."""
        for (group_id, partition), committed in self._by_producer.pop(producer_id, {}).items():
            self._release(producer_id, group_id, partition)
            yield group_id, partition, committed

    def _release(self, producer_id: int, group_id: str, partition: TopicPartition) -> None:
        of_group = self._producers[group_id]
        of_group[partition].discard(producer_id)
        if not of_group[partition]:
            del of_group[partition]
            if not of_group:
                del self._producers[group_id]
