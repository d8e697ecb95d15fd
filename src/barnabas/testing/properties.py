"""The settings of the nodes of an embedded cluster.

One broker is its own controller. Several brokers have a controller beside them, a node of its own
that is no broker: it can be reached when any broker is stopped, killed or cut off, and it is ready
at once, since a quorum of one needs no election with others. ``barnabas up --brokers 3`` has three
controllers instead, for tests of a cluster rather than of an application.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.devcluster.development import LOCALHOST, development_properties, replication_properties

CONTROLLER_ID = 100
PLAIN_LISTENER = "PLAINTEXT"
ConfigValue = str | int | float | bool
_REPLICAS_MAX = 3
# Kafka waits 9 s for the heartbeat of a broker before others lead its partitions. A test does not
# have that time. The bound is still large for a thread that waits for a processor.
_FAILOVER = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "3000"}


def config_text(config: Mapping[str, ConfigValue]) -> dict[str, str]:
    """Kafka's spelling of each value: ``true`` for True."""
    return {name: _text(name, value) for name, value in config.items()}


def single_properties(port: int, data_dir: str, config: Mapping[str, str], *, listener: str = PLAIN_LISTENER) -> dict[str, str]:
    """``listener`` is the name of the listener for clients, here and below."""
    return development_properties(port=port, data_dir=data_dir, listener=listener, overrides=config)


def controller_properties(port: int, data_dir: str, config: Mapping[str, str], *, brokers: int) -> dict[str, str]:
    """The controller of several brokers. The defaults of new topics are its own, not those of the
    broker that forwards the request."""
    own = {
        "process.roles": "controller",
        "controller.quorum.voters": f"{CONTROLLER_ID}@{LOCALHOST}:{port}",
        "listeners": f"CONTROLLER://{LOCALHOST}:{port}",
        **_of_several(brokers),
    }
    return development_properties(node_id=CONTROLLER_ID, data_dir=data_dir, overrides={**own, **config})


def broker_properties(
    node_id: int,
    port: int,
    data_dir: str,
    config: Mapping[str, str],
    *,
    brokers: int,
    controller_port: int,
    listener: str = PLAIN_LISTENER,
) -> dict[str, str]:
    """One broker among several."""
    own = {
        "process.roles": "broker",
        "controller.quorum.voters": f"{CONTROLLER_ID}@{LOCALHOST}:{controller_port}",
        "listeners": f"{listener}://{LOCALHOST}:{port}",
        **_of_several(brokers),
    }
    return development_properties(node_id=node_id, data_dir=data_dir, overrides={**own, **config})


def _of_several(brokers: int) -> dict[str, str]:
    return {"default.replication.factor": str(min(_REPLICAS_MAX, brokers)), **replication_properties(brokers), **_FAILOVER}


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise TypeError(f"{name} must be a string, a number, True or False, but is {value!r}.")
    return str(value)
