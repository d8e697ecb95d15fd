"""Who leads a partition when brokers come and go.

A leader comes from the in-sync replicas that are active, in the order of the replica list, so that the preferred one wins when it can. With
none of them there is no leader: electing anybody else would lose what was acknowledged. The last in-sync replica never leaves the
set, since it alone is known to have everything. A broker whose directory with the replica is offline cannot lead that partition,
active as it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import NO_LEADER_CHANGE, PartitionImage, TopicImage
from barnabas.model.ids import NO_NODE, ZERO_UUID
from barnabas.wire.metadata_records import MetadataRecord, PartitionChangeRecord


def elect(partition: PartitionImage, isr: tuple[int, ...], can_lead: Callable[[int], bool]) -> int:
    if partition.leader in isr and can_lead(partition.leader):
        return partition.leader
    return next((replica for replica in partition.replicas if replica in isr and can_lead(replica)), NO_NODE)


def without_broker(image: MetadataImage, broker_id: int) -> Iterator[MetadataRecord]:
    """Changes that take leadership and in-sync membership from a broker that is fenced, stopping or gone."""
    active = {broker.broker_id for broker in image.cluster.active_brokers()} - {broker_id}
    for topic, index, partition in _all_partitions(image):
        if broker_id != partition.leader and broker_id not in partition.isr:
            continue
        isr = tuple(replica for replica in partition.isr if replica != broker_id) or partition.isr
        yield from _change(topic, index, partition, isr, elect(partition, isr, _can_lead(image, partition, active)))


def with_broker(image: MetadataImage, broker_id: int) -> Iterator[MetadataRecord]:
    """Changes that a broker makes possible by becoming active: partitions without a leader that it is in sync with."""
    active = {broker.broker_id for broker in image.cluster.active_brokers()} | {broker_id}
    for topic, index, partition in _all_partitions(image):
        if partition.leader == NO_NODE and broker_id in partition.isr:
            yield from _change(topic, index, partition, partition.isr, elect(partition, partition.isr, _can_lead(image, partition, active)))


def _change(topic: TopicImage, index: int, partition: PartitionImage, isr: tuple[int, ...], leader: int) -> Iterator[PartitionChangeRecord]:
    if isr == partition.isr and leader == partition.leader:
        return
    yield PartitionChangeRecord(
        partition_id=index,
        topic_id=topic.topic_id,
        isr=list(isr) if isr != partition.isr else None,
        leader=leader if leader != partition.leader else NO_LEADER_CHANGE,
    )


def _all_partitions(image: MetadataImage) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
    for topic in image.topics.by_id.values():
        for index, partition in topic.partitions.items():
            yield topic, index, partition


def _can_lead(image: MetadataImage, partition: PartitionImage, active: set[int]) -> Callable[[int], bool]:
    def able(replica: int) -> bool:
        if replica not in active:
            return False
        directory = partition.directory_of(replica)
        return directory == ZERO_UUID or directory in image.cluster.brokers[replica].directories

    return able
