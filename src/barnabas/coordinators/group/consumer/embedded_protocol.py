"""The subscriptions and assignments of classic consumers in JoinGroup and SyncGroup, for groups
that also have members of the consumer protocol.

Two bytes of version precede the message. Every version begins like the previous ones, so a newer
one is read as the newest known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.metadata.topics import TopicsImage
from barnabas.model.dataclass import dataclass
from barnabas.wire.compiler import decode, encode
from barnabas.wire.embedded.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from barnabas.wire.tagged_fields import MalformedMessage

_VERSION = struct.Struct(">h")
_VERSION_MAX = 3
_WELL_KNOWN_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})


@dataclass(frozen=True, slots=True)
class EmbeddedSubscription:
    version: int
    topics: tuple[str, ...]
    owned: frozenset[IdPartition]
    rack_id: str | None


def read_subscription(metadata: bytes, topics: TopicsImage) -> EmbeddedSubscription | None:
    """None for bytes that no consumer sends. Owned partitions of deleted topics are dropped."""
    if len(metadata) < _VERSION.size:
        return None
    version = min(_VERSION.unpack_from(metadata)[0], _VERSION_MAX)
    try:
        said, _ = decode(ConsumerProtocolSubscription, version, metadata, _VERSION.size)
    except (MalformedMessage, KeyError):
        return None
    owned = frozenset(
        (topics.by_name[topic.topic].topic_id, partition)
        for topic in said.owned_partitions
        if topic.topic in topics.by_name
        for partition in topic.partitions
    )
    return EmbeddedSubscription(version, tuple(sorted(set(said.topics))), owned, said.rack_id)


def read_assignment(protocol: str, assignment: bytes, topics: TopicsImage) -> frozenset[IdPartition] | None:
    """None if the assignment cannot be taken over: invalid bytes, or user data of a custom
    assignor.

    The user data of the sticky assignors only has the previously owned partitions, which the
    coordinator does not need. Kafka refuses them too, and with them every cooperative group of
    librdkafka that has rebalanced once.
    """
    if not assignment:
        return frozenset()
    if len(assignment) < _VERSION.size:
        return None
    try:
        said, _ = decode(ConsumerProtocolAssignment, min(_VERSION.unpack_from(assignment)[0], _VERSION_MAX), assignment, _VERSION.size)
    except (MalformedMessage, KeyError):
        return None
    if said.user_data and protocol not in _WELL_KNOWN_ASSIGNORS:
        return None
    return frozenset(
        (topics.by_name[topic.topic].topic_id, partition)
        for topic in said.assigned_partitions
        if topic.topic in topics.by_name
        for partition in topic.partitions
    )


def write_assignment(partitions: Iterable[IdPartition], topics: TopicsImage, version: int) -> bytes:
    """In the version of the member's subscription."""
    assigned = [
        ConsumerProtocolAssignmentTopicPartition(topic=topics.by_id[topic_id].name, partitions=numbers)
        for topic_id, numbers in by_topic(partitions).items()
        if topic_id in topics.by_id
    ]
    return _VERSION.pack(version) + encode(ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None), version)
