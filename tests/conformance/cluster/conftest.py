"""Three nodes, brokers and controllers both, and Kafka's own tools. ``CLUSTER_OF=apache`` runs the
same tests against Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from peers.cluster import QUICK, Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.view import View, ready
from tests.conformance.clients.kafka_tools import Tools, kafka_tools

# The tests expect certain leaders. Neither a machine that is busy starting a JVM nor the controller
# by itself may change them.
PATIENT = {
    "broker.session.timeout.ms": "4000",
    "replica.lag.time.max.ms": "4000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "3000",
    "auto.leader.rebalance.enable": "false",
}


@pytest.fixture(scope="package")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with barnabas_cluster(brokers=3, properties={**QUICK, **PATIENT}) as running:
        ready(running)
        yield running


@pytest.fixture
def view(cluster: Cluster) -> View:
    """All three nodes run, whatever the previous test did to them."""
    for node in cluster.nodes.values():
        if not node.running:
            node.start()
            node.await_listening()
    return ready(cluster)
