"""The current leader of a partition, sent along with an error (KIP-951), so that a client needs no
Metadata request to find it.

Also the two errors for a partition without a replica here: it does not exist, or other brokers have
it.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.api.broker import Broker
from barnabas.metadata.cluster import BrokerImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition, Uuid

HINTED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class LeaderHint(NamedTuple):
    leader_id: int
    leader_epoch: int


class NodeAddress(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


class LeaderHints:
    """The leaders that one response names, and their addresses on the client's listener."""

    __slots__ = ("_broker", "_leaders", "_listener")

    def __init__(self, broker: Broker, listener: str) -> None:
        self._broker = broker
        self._listener = listener
        self._leaders: dict[int, None] = {}

    def leader_of(self, topic: str | None, index: int) -> LeaderHint | None:
        if topic is None:
            return None
        replica = self._broker.replicas.get(topic, index)
        image = self._broker.metadata.image.topics.partition(TopicPartition(topic, index))
        if image is None:
            return None
        newer = replica if replica is not None and replica.leader_epoch >= image.leader_epoch else image
        if newer.leader >= 0:
            self._leaders[newer.leader] = None
        return LeaderHint(newer.leader, newer.leader_epoch)

    def addresses(self) -> list[NodeAddress]:
        found = []
        for node_id in self._leaders:
            broker = self._broker.metadata.image.cluster.brokers.get(node_id)
            address = _address(broker, self._listener) if broker is not None and not broker.fenced else None
            if address is not None:
                found.append(address)
        return found


def _address(broker: BrokerImage, listener: str) -> NodeAddress | None:
    endpoint = broker.endpoint(listener)
    return NodeAddress(broker.broker_id, endpoint.host, endpoint.port, broker.rack) if endpoint is not None else None


def not_here(broker: Broker, topic: str, index: int) -> ErrorCode:
    """The error for a partition that has no replica on this node."""
    known = broker.metadata.image.topics.partition(TopicPartition(topic, index)) is not None
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def topic_name(broker: Broker, topic_id: Uuid) -> str | None:
    """The name of a topic, also of one without replicas here."""
    name = broker.replicas.topic_names.get(topic_id)
    if name is None:
        topic = broker.metadata.image.topics.by_id.get(topic_id)
        name = topic.name if topic is not None else None
    return name
