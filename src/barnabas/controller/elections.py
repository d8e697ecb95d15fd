"""Who leads a partition when brokers come and go.

A leader comes from the in-sync replicas that are active, in the order of the replica list, so that the preferred one wins when it can. With
none of them there is no leader: electing anybody else would lose what was acknowledged. The last in-sync replica never leaves the
set, since it alone is known to have everything. A broker whose directory with the replica is offline cannot lead that partition,
active as it may be.

Apache Kafka with eligible leader replicas (KIP-966) does empty the in-sync replicas when it stops, and remembers those who had everything
as eligible, or at the least who led last. Such metadata must be understood: whoever is elected from there begins a new in-sync set of one.
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
    """Changes that a broker makes possible by becoming active: partitions without a leader that it may lead."""
    active = {broker.broker_id for broker in image.cluster.active_brokers()} | {broker_id}
    for topic, index, partition in _all_partitions(image):
        if partition.leader != NO_NODE:
            continue
        can_lead = _can_lead(image, partition, active)
        if broker_id in partition.isr:
            yield from _change(topic, index, partition, partition.isr, elect(partition, partition.isr, can_lead))
        elif not partition.isr:
            yield from _begin_again(topic, index, partition, can_lead)


def _begin_again(topic: TopicImage, index: int, partition: PartitionImage, can_lead: Callable[[int], bool]) -> Iterator[MetadataRecord]:
    """Nobody is in sync: an eligible replica has everything; if there is none, who led last has the most."""
    eligible = partition.eligible_leader_replicas or partition.last_known_elr[:1]
    leader = elect(partition, eligible, can_lead)
    if leader != NO_NODE:
        # From the next batch on the others do not have everything any more, so nobody stays eligible.
        yield PartitionChangeRecord(
            partition_id=index, topic_id=topic.topic_id, isr=[leader], leader=leader, eligible_leader_replicas=[], last_known_elr=[]
        )


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
