"""The other brokers of the cluster: which of them leads a partition, and the connection to each on
the inter-broker listener."""

from __future__ import annotations

from typing import Any

from barnabas.config.listeners import inter_broker_listener_name
from barnabas.config.settings import BrokerSettings
from barnabas.metadata.applier import MetadataView
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.network.peers import Peers


class OtherBrokers:
    def __init__(self, metadata: MetadataView, peers: Peers, settings: BrokerSettings) -> None:
        self._metadata = metadata
        self._peers = peers
        self._listener = inter_broker_listener_name(settings)
        self._timeout_ms = settings.integer("request.timeout.ms")

    def leader_of(self, partition: TopicPartition) -> int:
        """The broker that leads a partition; NO_NODE when the partition has no leader or does not
        exist."""
        found = self._metadata.image.topics.partition(partition)
        return found.leader if found is not None else NO_NODE

    def send(self, broker_id: int, request: Any, *, purpose: str) -> Promise[Any] | None:
        """The response, or the ErrorCode of the failure; None when the broker has not registered
        the inter-broker listener.

        A fenced broker may be asked too: its metadata may be newer than this node's. Requests of
        one ``purpose`` share a connection.
        """
        registered = self._metadata.image.cluster.brokers.get(broker_id)
        endpoint = registered.endpoint(self._listener) if registered is not None else None
        if endpoint is None:
            return None
        return self._peers.at(endpoint.host, endpoint.port, purpose).send(request, timeout_ms=self._timeout_ms)


def any_alive(image: MetadataImage, listener: str, preferred: int) -> int:
    """A broker to which a client of ``listener`` can send admin requests, since every broker
    forwards them; NO_NODE if there is none."""
    alive = [each.broker_id for each in image.cluster.brokers.values() if not each.fenced and each.endpoint(listener) is not None]
    return preferred if preferred in alive else min(alive, default=NO_NODE)
