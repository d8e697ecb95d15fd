"""Nodes of Kafka and of Barnabas in one cluster: they register with, vote for, follow and lead each other, and clients notice nothing."""

from __future__ import annotations

import pytest

from peers.apache_kafka import why_missing
from peers.apache_kafka_cluster import APACHE
from peers.cluster import Cluster, Program
from tests.cluster.barnabas_cluster import BARNABAS
from tests.cluster.chaos import PARTITIONS, TOPIC, Chaos, survived
from tests.cluster.view import View

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


def every_broker_leads(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """Each in turn leads every partition, and the others follow."""
    for leader in sorted(node.id for node in cluster.brokers):
        others = [node.id for node in cluster.brokers if node.id != leader]
        view.reassign(TOPIC, {partition: [leader, *others] for partition in range(PARTITIONS)})
        view.elect_preferred(TOPIC, list(range(PARTITIONS)))
        chaos.await_progress()
        assert all(each.leader_id == leader for each in view.partitions(TOPIC).values())


def test_a_barnabas_broker_under_kafkas_controllers() -> None:
    survived([every_broker_leads], seed=1, brokers=3, controllers=1, programs={1: BARNABAS, 2: APACHE, 3: BARNABAS, 101: APACHE})


def test_a_kafka_broker_under_barnabas_controllers() -> None:
    survived([every_broker_leads], seed=2, brokers=3, controllers=1, programs={1: BARNABAS, 2: APACHE, 3: BARNABAS, 101: BARNABAS})


def test_a_quorum_of_both_elects_whoever_is_left() -> None:
    programs: dict[int, Program] = {1: BARNABAS, 2: BARNABAS, 3: BARNABAS, 101: BARNABAS, 102: APACHE, 103: BARNABAS}
    survived(["kill controller", "kill controller", "stop controller"], seed=3, brokers=3, controllers=3, programs=programs)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
def test_combined_nodes_of_both_are_killed(transactional: bool) -> None:
    programs: dict[int, Program] = {1: BARNABAS, 2: APACHE, 3: BARNABAS}
    deeds = ["kill leader", "kill follower", "kill controller", "kill coordinator"] * 3
    survived([every_broker_leads, *deeds], seed=4, transactional=transactional, programs=programs)
