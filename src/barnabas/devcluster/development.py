"""The settings of nodes for development and tests: one machine, as many replicas as there are
brokers (up to three), no delays.

The names are Kafka's own, so a user who outgrows ``barnabas up`` can copy these settings into a
``server.properties``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

LOCALHOST = "127.0.0.1"
# The name of the listener for clients in a secured cluster.
SECURE_LISTENER = "SASL_SSL"
# A quorum of three survives the loss of one controller. More controllers would only slow down
# commits; two controllers survive less than one alone.
CONTROLLERS_MAX = 3
_REPLICAS_MAX = 3
_MIN_ISR_MAX = 2


class NodePorts(NamedTuple):
    clients: int
    controllers: int  # zero for a node that is only a broker


def development_properties(
    *,
    node_id: int = 1,
    host: str = LOCALHOST,
    port: int = 0,
    data_dir: str,
    listener: str = "PLAINTEXT",
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """With port 0 the system chooses a port, and the node advertises the chosen one. ``listener``
    is the name of the listener for clients."""
    return {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "controller.quorum.voters": f"{node_id}@{host}:0",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{listener}://{host}:{port},CONTROLLER://{host}:0",
        "log.dirs": data_dir,
        **replication_properties(1),
        "group.initial.rebalance.delay.ms": "0",
        **(overrides or {}),
    }


def controllers_of(brokers: int) -> range:
    """The ids of the nodes of a new cluster that are controllers as well as brokers."""
    return range(1, 1 + (CONTROLLERS_MAX if brokers >= CONTROLLERS_MAX else 1))


def cluster_properties(
    node_id: int,
    ports: Mapping[int, NodePorts],
    *,
    controllers: Sequence[int],
    host: str,
    data_dir: str,
    overrides: Mapping[str, str],
    listener: str = "PLAINTEXT",
) -> dict[str, str]:
    """The settings of one node among several. The ports of all nodes are known beforehand."""
    own = ports[node_id]
    is_controller = node_id in controllers
    listeners = f"{listener}://{host}:{own.clients}" + (f",CONTROLLER://{host}:{own.controllers}" if is_controller else "")
    return {
        "process.roles": "broker,controller" if is_controller else "broker",
        "node.id": str(node_id),
        "controller.quorum.voters": ",".join(f"{each}@{host}:{ports[each].controllers}" for each in controllers),
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "log.dirs": data_dir,
        "default.replication.factor": str(min(_REPLICAS_MAX, len(ports))),
        **replication_properties(len(ports)),
        "group.initial.rebalance.delay.ms": "0",
        **overrides,
    }


def replication_properties(brokers: int) -> dict[str, str]:
    """Of the topics that a cluster of this many brokers creates for itself."""
    replicas, min_isr = str(min(_REPLICAS_MAX, brokers)), str(min(_MIN_ISR_MAX, brokers))
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": min_isr,
        "rlmm.config.remote.log.metadata.topic.replication.factor": replicas,
        "rlmm.config.remote.log.metadata.topic.min.isr": min_isr,
    }
