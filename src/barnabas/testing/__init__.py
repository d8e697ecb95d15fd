"""Real brokers inside a test.

    with EmbeddedBroker() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})

They are the brokers that run in production, on free ports, with their data in a temporary directory
that is removed afterwards. pytest users get them from the fixtures ``kafka``, ``kafka_session`` and
``kafka_cluster``.

Read in this order:

    embedded_cluster  EmbeddedCluster: starts, stops and kills brokers, and sets faults
    embedded_broker   EmbeddedBroker: a cluster of one
    properties        the settings of the nodes
    security          ClusterSecurity: certificates, users and settings of a secured cluster
    access_helpers    the methods of a cluster for clients that log in, users and ACLs
    node_thread       NodeThread: a node in a thread of this process
    node_child        NodeChild: a node in a child process, and node_process, which runs there
                      (node_start imports it)
    client            topics, records and groups in one call each
    faults            errors, delays and cut networks, for tests of an application
    pytest_plugin     the fixtures

Nothing here runs in a broker outside of tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.testing.client.helper_client import KafkaRefused
    from barnabas.testing.client.messages import ConsumedRecord, Message, Position
    from barnabas.testing.embedded_broker import EmbeddedBroker
    from barnabas.testing.embedded_cluster import EmbeddedCluster
    from barnabas.testing.faults.fault import Fault

__all__ = ["EmbeddedBroker", "EmbeddedCluster", "Fault", "Message", "ConsumedRecord", "Position", "KafkaRefused"]

_MODULES = {
    "EmbeddedBroker": "embedded_broker",
    "EmbeddedCluster": "embedded_cluster",
    "Fault": "faults.fault",
    "Message": "client.messages",
    "ConsumedRecord": "client.messages",
    "Position": "client.messages",
    "KafkaRefused": "client.helper_client",
}


def __getattr__(name: str) -> Any:
    """Every pytest run loads our plugin, and with it this package; only tests that use a broker pay
    for importing one."""
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"barnabas.testing.{_MODULES[name]}"), name)
