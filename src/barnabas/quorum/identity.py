"""A node's place in the quorum, from its settings."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.config.addresses import host_and_port, voter
from barnabas.config.settings import BrokerSettings
from barnabas.env.entropy import Entropy
from barnabas.model.ids import NodeId, Uuid
from barnabas.quorum.core.in_flight import Address
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.quorum import Identity
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.settings import QuorumSettings
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, VoterSet, configured_voters


def quorum_node(
    settings: BrokerSettings,
    state: QuorumState,
    entropy: Entropy,
    *,
    cluster_id: str,
    directory_id: Uuid,
    endpoints: Iterable[tuple[str, str, int]],
) -> QuorumNode:
    """``directory_id`` is the id of the directory with the metadata log; ``endpoints`` are the
    listeners on which other controllers reach this one."""
    names = settings.strings("controller.listener.names")
    identity = Identity(
        key=ReplicaKey(NodeId(settings.integer("node.id")), directory_id),
        cluster_id=cluster_id,
        listener_name=names[0] if names else "",
        endpoints=tuple(Endpoint(*each) for each in endpoints),
        may_vote="controller" in settings.strings("process.roles"),
        bootstrap=bootstrap_servers(settings),
    )
    return QuorumNode(identity, static_voters(settings), state, quorum_settings(settings), entropy)


def static_voters(settings: BrokerSettings) -> VoterSet:
    """The voters of ``controller.quorum.voters``; empty in a quorum whose voters are in the log."""
    names = settings.strings("controller.listener.names")
    parsed = (voter(each) for each in settings.strings("controller.quorum.voters"))
    addresses = [(NodeId(node_id), host, port) for node_id, host, port in (each for each in parsed if each is not None)]
    return configured_voters(names[0] if names else "", addresses)


def bootstrap_servers(settings: BrokerSettings) -> tuple[Address, ...]:
    parsed = (host_and_port(each) for each in settings.strings("controller.quorum.bootstrap.servers"))
    return tuple(Address(*each) for each in parsed if each is not None)


def quorum_settings(settings: BrokerSettings) -> QuorumSettings:
    return QuorumSettings(
        election_timeout_ms=settings.integer("controller.quorum.election.timeout.ms"),
        fetch_timeout_ms=settings.integer("controller.quorum.fetch.timeout.ms"),
        election_backoff_max_ms=settings.integer("controller.quorum.election.backoff.max.ms"),
        request_timeout_ms=settings.integer("controller.quorum.request.timeout.ms"),
        retry_backoff_ms=settings.integer("controller.quorum.retry.backoff.ms"),
        fetch_max_bytes=settings.integer("controller.quorum.fetch.max.bytes"),
        fetch_snapshot_max_bytes=settings.integer("controller.quorum.fetch.snapshot.max.bytes"),
        auto_join=settings.flag("controller.quorum.auto.join.enable"),
    )
