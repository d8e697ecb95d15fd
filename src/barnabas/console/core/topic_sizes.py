"""Sizes of topics: offsets and bytes of each partition, put together from several answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.console.core.topic import Bounds, FoundOffset, Partition, ReplicaSize, Topic, TopicPartition


@dataclass(frozen=True, slots=True)
class TopicRow:
    name: str
    is_internal: bool
    partitions: int
    replication_factor: int
    records_max: int | None
    """Offsets between the ends of all partitions; None if a leader did not answer."""
    size_bytes: int | None
    """Of the leaders' replicas."""
    offline: int
    under_replicated: int


@dataclass(frozen=True, slots=True)
class SizedReplica:
    broker: int
    in_sync: bool
    is_leader: bool
    size_bytes: int | None
    offset_lag: int | None
    directory: str | None


@dataclass(frozen=True, slots=True)
class SizedPartition:
    id: int
    leader: int | None
    leader_epoch: int
    replicas: list[SizedReplica]
    is_under_replicated: bool
    start_offset: int | None
    end_offset: int | None
    """The high watermark."""
    stable_offset: int | None
    """The end for readers of committed records."""
    local_start_offset: int | None
    """The first offset on the leader's own disk."""
    records_max: int | None
    remote_records_max: int
    size_bytes: int | None
    """Of the leader's replica."""

    @property
    def has_open_transaction(self) -> bool:
        return self.stable_offset is not None and self.end_offset is not None and self.stable_offset < self.end_offset


def topic_rows(topics: Iterable[Topic], bounds: Mapping[TopicPartition, Bounds], replicas: Iterable[ReplicaSize] | None) -> list[TopicRow]:
    """``replicas`` are those of the brokers' directories; None if no broker shows them."""
    topics = list(topics)
    leaders = {(topic.name, each.id): each.leader for topic in topics for each in topic.partitions}
    sizes: dict[str, int] = {}
    for each in replicas or ():
        if leaders.get((each.topic, each.partition)) == each.broker and not each.is_future:
            sizes[each.topic] = sizes.get(each.topic, 0) + each.size_bytes
    return [
        TopicRow(
            topic.name,
            topic.is_internal,
            len(topic.partitions),
            topic.replication_factor,
            _records(topic, bounds),
            None if replicas is None else sizes.get(topic.name, 0),
            sum(each.is_offline for each in topic.partitions),
            sum(each.is_under_replicated for each in topic.partitions),
        )
        for topic in topics
    ]


def sized_partitions(
    topic: Topic,
    bounds: Mapping[TopicPartition, Bounds],
    replicas: Iterable[ReplicaSize],
    local_starts: Mapping[TopicPartition, FoundOffset],
    stable_ends: Mapping[TopicPartition, FoundOffset],
) -> list[SizedPartition]:
    by_place = {(each.partition, each.broker): each for each in replicas if not each.is_future}
    sized = []
    for each in topic.partitions:
        place = TopicPartition(topic.name, each.id)
        ends = bounds.get(place)
        local = local_starts[place].offset if place in local_starts else None
        leader_replica = by_place.get((each.id, each.leader))
        sized.append(
            SizedPartition(
                each.id,
                each.leader if each.leader >= 0 else None,
                each.leader_epoch,
                [_replica(broker, each, by_place.get((each.id, broker))) for broker in each.replicas],
                each.is_under_replicated,
                ends.start if ends is not None else None,
                ends.end if ends is not None else None,
                stable_ends[place].offset if place in stable_ends else None,
                local,
                ends.end - ends.start if ends is not None else None,
                max(0, local - ends.start) if ends is not None and local is not None and local >= 0 else 0,
                leader_replica.size_bytes if leader_replica is not None else None,
            )
        )
    return sized


def _replica(broker: int, partition: Partition, found: ReplicaSize | None) -> SizedReplica:
    return SizedReplica(
        broker,
        broker in partition.isr,
        broker == partition.leader,
        found.size_bytes if found is not None else None,
        found.offset_lag if found is not None else None,
        found.directory if found is not None else None,
    )


def _records(topic: Topic, bounds: Mapping[TopicPartition, Bounds]) -> int | None:
    found = [bounds.get(TopicPartition(topic.name, each.id)) for each in topic.partitions]
    return None if any(each is None for each in found) else sum(each.end - each.start for each in found if each is not None)
