"""The topics of Metadata responses as bytes, which are kept while they are true.

Clients ask for the same topics again and again, and all clients of a topic ask when its leader
changes. The bytes of a topic depend on its image, which is replaced when the topic changes, on the
version and the listener of the request, and on which brokers can be reached. They are kept for each
version and listener, and forgotten when other brokers are reachable.

Only the operations that a caller may perform depend on the caller. They are the last field of a
topic, so the kept bytes end before them.

Not here: which topics a response has and which of them the caller may see
(:mod:`.broker_apis.metadata`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias, cast

from barnabas.api.sliced_answers import Steps
from barnabas.metadata.cluster import Endpoint
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage, TopicsImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, Uuid
from barnabas.model.topic_names import INTERNAL_TOPICS
from barnabas.replication.other_brokers import any_alive
from barnabas.wire.compiler import part_encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.metadata import MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic
from barnabas.wire.types import EncodedElements

# Bytes kept for all versions and listeners together: those of 100,000 topics with one partition.
# Topics beyond it are encoded for each request.
KEPT_BYTES_MAX = 32 * 1024 * 1024
# What a kept topic occupies beside its bytes.
ENTRY_BYTES: Final = 250

# What steps cost, see `barnabas.api.sliced_answers`.
PARTITION_US: Final = 10
TOPIC_US: Final = 10
KEPT_TOPICS_PER_STEP: Final = 20
KEPT_TOPICS_US: Final = 10

_LISTENER_NOT_FOUND_VERSION_MIN = 6
_OPERATIONS_VERSION_MIN = 8
_OPERATIONS, _OPERATIONS_AND_TAGS = struct.Struct(">i"), struct.Struct(">ix")

# Brokers that are not fenced: their directories, or None without the client's listener.
_Reachable: TypeAlias = Mapping[int, tuple[Uuid, ...] | None]


class EncodedTopic(NamedTuple):
    topic: TopicImage
    data: bytes
    error_codes: tuple[int, ...]


class _WholeList(NamedTuple):
    """All topics of an image, for callers that may perform the same operations on each."""

    topics: TopicsImage
    operations: bytes
    elements: EncodedElements


class _KeptTopics:
    """The kept topics of one version, one listener and one set of reachable brokers."""

    __slots__ = ("by_name", "pruned_for", "size_bytes", "whole")

    def __init__(self) -> None:
        self.by_name: dict[str, EncodedTopic] = {}
        self.whole: _WholeList | None = None
        self.size_bytes = 0
        self.pruned_for: TopicsImage | None = None

    def forget_whole(self) -> None:
        if self.whole is not None:
            self.size_bytes -= len(self.whole.elements.data)
            self.whole = None

    def prune(self, topics: TopicsImage) -> None:
        """Forget topics that the image no longer has; at most once for an image, since it takes
        long."""
        if self.pruned_for is topics:
            return
        self.pruned_for = topics
        self.whole = None
        self.by_name = {name: each for name, each in self.by_name.items() if topics.by_name.get(name) is each.topic}
        self.size_bytes = sum(map(_size, self.by_name.values()))


class DescribedTopics:
    """The kept topics of one node, for all versions and listeners."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], TopicsOnListener] = {}  # The least recently used first.

    def on(self, listener: str, version: int, image: MetadataImage, node_id: int) -> TopicsOnListener:
        """The topics for clients of ``listener``, as the brokers of ``image`` are reachable there.
        A user may keep it for several turns, since it does not change with the cluster."""
        key = listener, version
        found = self._kept.pop(key, None)
        if found is None or found.cluster is not image.cluster:
            found = TopicsOnListener(self, listener, version, image, node_id, found)
        self._kept[key] = found
        return found

    @property
    def size_bytes(self) -> int:
        return sum(each.topics.size_bytes for each in self._kept.values())

    def make_room(self, size_bytes: int, user: TopicsOnListener) -> bool:
        """False if all others are forgotten and ``user`` alone has too much, or was forgotten."""
        current = self._kept.get(user.key)
        if current is None or current.topics is not user.topics:
            return False
        while self.size_bytes + size_bytes > KEPT_BYTES_MAX:
            oldest = next(iter(self._kept))
            if oldest == user.key:
                return False
            del self._kept[oldest]
        return True


class TopicsOnListener:
    """The topics of responses of one version, for clients of one listener, in one state of the
    brokers."""

    def __init__(
        self, owner: DescribedTopics, listener: str, version: int, image: MetadataImage, node_id: int, before: TopicsOnListener | None
    ) -> None:
        """``before`` is the same for an earlier state of the brokers. If the same brokers are
        reachable, its topics are still true."""
        self.key = listener, version
        self._owner = owner
        self._version = version
        self._not_on_listener = (
            ErrorCode.LISTENER_NOT_FOUND if version >= _LISTENER_NOT_FOUND_VERSION_MIN else ErrorCode.LEADER_NOT_AVAILABLE
        )
        self._encode_topic = part_encoder(MetadataResponse, MetadataResponseTopic, version)
        self._encode_partition = part_encoder(MetadataResponse, MetadataResponsePartition, version)
        self._flexible = version in declaration_of(MetadataResponse).flexible
        self._operations_bytes = len(self.operations(0))
        registered = image.cluster.brokers
        addresses = {each.broker_id: each.endpoint(listener) for each in registered.values()}
        alive = {each.broker_id: addresses[each.broker_id] for each in registered.values() if not each.fenced}
        self.reachable: _Reachable = {
            each: registered[each].directories if endpoint is not None else None for each, endpoint in alive.items()
        }
        self.cluster = image.cluster
        self.brokers = _listed(alive, image) or _listed(addresses, image)
        self.controller_id = any_alive(image, listener, node_id)
        self.topics: _KeptTopics = before.topics if before is not None and before.reachable == self.reachable else _KeptTopics()

    def operations(self, bits: int) -> bytes:
        """The end of a topic, after its kept bytes."""
        if self._version < _OPERATIONS_VERSION_MIN:
            return b""
        return (_OPERATIONS_AND_TAGS if self._flexible else _OPERATIONS).pack(bits)

    # -- one topic ---------------------------------------------------------------------------------

    def kept(self, topic: TopicImage) -> EncodedTopic | None:
        found = self.topics.by_name.get(topic.name)
        return found if found is not None and found.topic is topic else None

    def encoding(self, topic: TopicImage, image: MetadataImage) -> Steps[EncodedTopic]:
        partitions, error_codes = bytearray(), []
        for index, partition in sorted(topic.partitions.items()):
            described = _partition(index, partition, self.reachable, image, self._not_on_listener)
            if described.error_code:
                error_codes.append(described.error_code)
            self._encode_partition(described, partitions)
            yield PARTITION_US
        out = bytearray()
        self._encode_topic(
            MetadataResponseTopic(
                error_code=ErrorCode.NONE,
                name=topic.name,
                topic_id=topic.topic_id,
                is_internal=topic.name in INTERNAL_TOPICS,
                partitions=cast(list[MetadataResponsePartition], EncodedElements(len(topic.partitions), partitions)),
            ),
            out,
        )
        encoded = EncodedTopic(topic, bytes(out[: len(out) - self._operations_bytes]), tuple(error_codes))
        self._keep(encoded, image)
        yield TOPIC_US
        return encoded

    def encode_missing(self, topic: MetadataResponseTopic) -> bytes:
        """A topic that has no image: it does not exist, or the caller may not describe it."""
        out = bytearray()
        self._encode_topic(topic, out)
        return bytes(out)

    def _keep(self, encoded: EncodedTopic, image: MetadataImage) -> None:
        kept, name = self.topics, encoded.topic.name
        before = kept.by_name.get(name)
        size_bytes = _size(encoded) - (_size(before) if before is not None else 0)
        if not self._owner.make_room(size_bytes, self):
            kept.prune(image.topics)
            before = kept.by_name.get(name)
            size_bytes = _size(encoded) - (_size(before) if before is not None else 0)
            if not self._owner.make_room(size_bytes, self):
                return
        kept.by_name[name] = encoded
        kept.size_bytes += size_bytes

    # -- all topics --------------------------------------------------------------------------------

    def whole(self, topics: TopicsImage, operations: bytes) -> EncodedElements | None:
        found = self.topics.whole
        return found.elements if found is not None and found.topics is topics and found.operations == operations else None

    def keep_whole(self, topics: TopicsImage, operations: bytes, elements: EncodedElements) -> None:
        kept, size_bytes = self.topics, len(elements.data)
        kept.forget_whole()
        if self._owner.make_room(size_bytes, self):
            kept.whole = _WholeList(topics, operations, elements)
            kept.size_bytes += size_bytes


def _size(encoded: EncodedTopic) -> int:
    return len(encoded.data) + ENTRY_BYTES


def _listed(addresses: Mapping[int, Endpoint | None], image: MetadataImage) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=broker_id, host=endpoint.host, port=endpoint.port, rack=image.cluster.brokers[broker_id].rack)
        for broker_id, endpoint in addresses.items()
        if endpoint is not None
    ]


def _partition(
    index: int, partition: PartitionImage, reachable: _Reachable, image: MetadataImage, not_on_listener: ErrorCode
) -> MetadataResponsePartition:
    leader = partition.leader
    error = ErrorCode.NONE
    if leader == NO_NODE or leader not in reachable:
        leader, error = NO_NODE, ErrorCode.LEADER_NOT_AVAILABLE
    elif reachable[leader] is None:
        leader, error = NO_NODE, not_on_listener
    return MetadataResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=[replica for replica in partition.replicas if _offline(replica, partition, reachable, image)],
    )


def _offline(replica: int, partition: PartitionImage, reachable: _Reachable, image: MetadataImage) -> bool:
    if reachable.get(replica) is None:
        return True
    return bool(partition.directories) and not image.cluster.brokers[replica].has_online(partition.directory_of(replica))
