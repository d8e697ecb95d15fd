"""The offsets of one shard, as its log has them: committed ones, and pending ones of open
transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from sys import intern
from types import MappingProxyType

from barnabas.coordinators.group.committed_offset import CommittedOffset, committed_from
from barnabas.coordinators.group.pending_offsets import PendingOffsets
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.ids import TopicPartition
from barnabas.wire.coordinator_records.legacy_offset_commit import LegacyOffsetCommitKey
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitKey

_NONE: Mapping[TopicPartition, CommittedOffset] = MappingProxyType({})


class OffsetTable:
    """A transactional commit counts from the transaction's marker on, unless a later commit was
    written meanwhile: the order of the commits in the log decides, not that of the markers.
    """

    def __init__(self, on_commit: Callable[[str], object]) -> None:
        """``on_commit`` receives the group of every commit; for pending ones when they are written
        and when they begin to count. So every group with offsets exists, even if it was deleted in
        between, and its offsets can be found.
        """
        self._on_commit = on_commit
        self._committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self._pending = PendingOffsets()
        self._serial = 0

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None) -> None:
        key = record.key
        if not isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey):
            return
        # A load decodes the name of a topic with each of its offsets; one copy of it is kept.
        partition = TopicPartition(intern(key.topic), key.partition)
        if record.value is None:
            self._forget(key.group, partition)
            return
        self._on_commit(key.group)
        self._serial += 1
        committed = committed_from(record.value, self._serial)
        if transaction is None:
            self._committed.setdefault(key.group, {})[partition] = committed
        else:
            self._pending.put(transaction.producer_id, key.group, partition, committed)

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        for group_id, partition, pending in self._pending.end(transaction.producer_id):
            if committed:
                self._on_commit(group_id)
                offsets = self._committed.setdefault(group_id, {})
                known = offsets.get(partition)
                if known is None or known.serial < pending.serial:
                    offsets[partition] = pending

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        self._pending.forget(group_id, partition)
        offsets = self._committed.get(group_id)
        if offsets is not None:
            offsets.pop(partition, None)
            if not offsets:
                del self._committed[group_id]

    def of(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """The committed offsets of a group."""
        return self._committed.get(group_id, _NONE)

    def by_group(self) -> Iterator[tuple[str, Mapping[TopicPartition, CommittedOffset]]]:
        yield from self._committed.items()

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction may replace the committed offset."""
        return self._pending.holds(group_id, partition)

    def pending_of(self, group_id: str) -> list[TopicPartition]:
        return self._pending.partitions_of(group_id)

    def partitions_of(self, group_id: str) -> list[TopicPartition]:
        """The partitions with a committed or a pending offset of the group."""
        return list(dict.fromkeys([*self.of(group_id), *self.pending_of(group_id)]))

    def in_topic(self, topic: str) -> Iterator[tuple[str, TopicPartition, CommittedOffset | None]]:
        """Committed and pending offsets; the value is None for those that are only pending."""
        for group_id in dict.fromkeys([*self._committed, *self._pending.groups()]):
            committed = self.of(group_id)
            for partition in self.partitions_of(group_id):
                if partition.topic == topic:
                    yield group_id, partition, committed.get(partition)
