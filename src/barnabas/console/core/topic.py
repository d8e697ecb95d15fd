"""Topics as brokers describe them: partitions, offsets and sizes. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class FoundOffset(NamedTuple):
    offset: int
    """-1 when no record is that young."""
    timestamp: int


class Bounds(NamedTuple):
    """The first offset of a partition, and the one behind its last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Partition:
    id: int
    leader: int
    """-1 for a partition without a leader."""
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]

    @property
    def is_offline(self) -> bool:
        return self.leader < 0

    @property
    def is_under_replicated(self) -> bool:
        return len(self.isr) < len(self.replicas)


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: str
    is_internal: bool
    partitions: list[Partition]

    @property
    def replication_factor(self) -> int:
        return max((len(each.replicas) for each in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    topic: str
    partition: int
    broker: int
    directory: str
    size_bytes: int
    offset_lag: int
    is_future: bool
    """A copy that will replace the replica in another directory."""
