"""The other brokers, as handlers ask them: on the listener that brokers registered for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.config.listeners import inter_broker_listener_name
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.network.peers import Peer

if TYPE_CHECKING:
    from barnabas.api.broker import Broker


def leader_of(broker: Broker, partition: TopicPartition) -> int:
    """NO_NODE when nobody leads it, or there is no such partition."""
    found = broker.metadata.image.topics.partition(partition)
    return found.leader if found is not None else NO_NODE


def peer_of(broker: Broker, broker_id: int, purpose: str) -> Peer | None:
    """None when it is not there, or cannot be reached by brokers. A fenced one may be asked: it may know more than this node does."""
    registered = broker.metadata.image.cluster.brokers.get(broker_id)
    endpoint = registered.endpoint(inter_broker_listener_name(broker.settings)) if registered is not None else None
    return broker.peers.at(endpoint.host, endpoint.port, purpose) if endpoint is not None else None


def any_alive(image: MetadataImage, listener: str, preferred: int) -> int:
    """A broker to which a client of ``listener`` can send admin requests, since each passes them on; NO_NODE if there is none."""
    alive = [each.broker_id for each in image.cluster.brokers.values() if not each.fenced and each.endpoint(listener) is not None]
    return preferred if preferred in alive else min(alive, default=NO_NODE)


def told_by_peer(code: int) -> ErrorCode:
    """Another node's error code. One that Kafka does not have yet is as good as none that we know."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
