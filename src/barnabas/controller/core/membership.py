"""The changes to partitions when a broker, a directory or a replica comes or goes."""

from __future__ import annotations

from collections.abc import Callable, Collection

from barnabas.controller.core.partition_change import Wanted
from barnabas.controller.core.partitions import Partitions
from barnabas.metadata.topics import TopicImage
from barnabas.model.ids import NO_NODE, Uuid


def without_broker(partitions: Partitions, broker_id: int) -> None:
    """A broker is fenced or stops: it leaves the in-sync replicas and leads nothing. It still has
    its log, so it may stay eligible."""
    for topic, index, partition in partitions:
        if broker_id == partition.leader or broker_id in partition.isr:
            without_replica(partitions, topic, index, broker_id)


def without_tail(partitions: Partitions, broker_id: int) -> None:
    """A broker restarted after an unclean stop, or was unregistered: it may have lost the records
    that it acknowledged last, so it is not eligible."""
    lost = frozenset({broker_id})
    for topic, index, partition in partitions:
        if broker_id == partition.leader or broker_id in partition.isr or broker_id in partition.eligible_leader_replicas:
            isr = tuple(each for each in partition.isr if each != broker_id)
            partitions.change(topic, index, Wanted(isr=isr, lost_their_tail=lost), alive=_others(partitions, broker_id))


def without_directories(partitions: Partitions, broker_id: int, gone: Collection[Uuid]) -> None:
    for topic, index, partition in partitions:
        if broker_id in partition.replicas and partition.directory_of(broker_id) in gone:
            without_replica(partitions, topic, index, broker_id)


def without_replica(partitions: Partitions, topic: TopicImage, index: int, broker_id: int) -> None:
    """One replica leaves the in-sync replicas and does not lead."""
    partition = partitions.find(topic, index)
    if partition is not None:
        isr = tuple(each for each in partition.isr if each != broker_id)
        partitions.change(topic, index, Wanted(isr=isr), alive=_others(partitions, broker_id))


def with_broker(partitions: Partitions, broker_id: int) -> None:
    """A broker becomes active: it may lead partitions that have no leader."""
    active = partitions.image.cluster.active
    for topic, index, partition in partitions:
        if partition.leader == NO_NODE:
            partitions.change(topic, index, Wanted(), alive=lambda each: each == broker_id or active(each))


def _others(partitions: Partitions, broker_id: int) -> Callable[[int], bool]:
    active = partitions.image.cluster.active
    return lambda each: each != broker_id and active(each)
