"""A process that is gone is replaced before its session ends; one that is only silent is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from peers.cluster import Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.view import View, ready
from tests.waiting import until

# Longer than every wait of these tests: a broker that is fenced was not fenced by its session.
LONG_SESSION_MS = 600_000
GONE = "broker fenced because its process is gone"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with barnabas_cluster(brokers=3, properties={"broker.session.timeout.ms": str(LONG_SESSION_MS)}) as cluster:
        yield cluster


@pytest.fixture
def view(cluster: Cluster) -> View:
    return ready(cluster)


def fenced(cluster: Cluster, *, by_a_node_other_than: int) -> int:
    return sum(node.log_text().count(GONE) for each, node in cluster.nodes.items() if each != by_a_node_other_than)


def test_another_broker_leads_at_once_when_the_leader_is_killed(cluster: Cluster, view: View) -> None:
    view.create_topic("killed")
    leader = view.await_leader("killed")
    cluster.node(leader).kill()
    view.seen_without(leader).await_leader("killed", other_than=leader)
    assert fenced(cluster, by_a_node_other_than=leader)
    cluster.node(leader).start()
    view.await_in_sync("killed")


def test_another_broker_leads_at_once_when_the_active_controller_is_killed_with_it(cluster: Cluster, view: View) -> None:
    view.create_topic("killed-controller", partitions=3)
    controller = view.await_controller()
    cluster.node(controller).kill()
    others = view.seen_without(controller)
    for partition in range(3):
        others.await_leader("killed-controller", partition, other_than=controller)
    cluster.node(controller).start()
    view.await_in_sync("killed-controller")


def test_a_leader_that_is_stopped_by_a_signal_keeps_its_session(cluster: Cluster, view: View) -> None:
    """Its kernel goes on to accept connections, although no process answers them."""
    view.create_topic("paused")
    leader = view.await_leader("paused")
    before = fenced(cluster, by_a_node_other_than=leader)
    cluster.node(leader).pause()
    try:
        others = view.seen_without(leader)
        others.create_topic("meanwhile", assignments={0: [each for each in cluster.nodes if each != leader]})
        until(lambda: others.leader("meanwhile") is not None, "the others go on")
        assert others.leader("paused") == leader
    finally:
        cluster.node(leader).resume()
    assert fenced(cluster, by_a_node_other_than=leader) == before
