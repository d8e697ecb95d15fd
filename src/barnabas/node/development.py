"""The settings of a node for development and tests: one machine, no replication, no waiting.

Kafka's own names throughout; whoever outgrows ``barnabas up`` copies these into a ``server.properties``.
"""

from __future__ import annotations

from collections.abc import Mapping

LOCALHOST = "127.0.0.1"


def development_properties(
    *, node_id: int = 1, host: str = LOCALHOST, port: int = 0, data_dir: str, overrides: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Port 0 lets the system choose; what it chose is what the node advertises."""
    return {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "controller.quorum.voters": f"{node_id}@{host}:0",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{host}:{port},CONTROLLER://{host}:0",
        "log.dirs": data_dir,
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **(overrides or {}),
    }
