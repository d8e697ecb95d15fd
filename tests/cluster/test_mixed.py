"""Nodes of Kafka and of Barnabas in one cluster: they register with, vote for, follow and lead each
other, and clients do not notice.
"""

from __future__ import annotations

import pytest

from peers.apache_kafka import why_missing
from peers.apache_kafka_cluster import APACHE
from peers.cluster import Cluster, Program
from tests.cluster.barnabas_cluster import BARNABAS
from tests.cluster.chaos import PARTITIONS, TOPIC, Chaos, survived
from tests.cluster.view import View
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

# Chance decides elections: this many are lost in a row less than once in a thousand runs.
CHANGES_MAX = 10


def every_broker_leads(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """Each broker in turn leads every partition, and the others follow."""
    for leader in sorted(node.id for node in cluster.brokers):
        others = [node.id for node in cluster.brokers if node.id != leader]
        view.reassign(TOPIC, {partition: [leader, *others] for partition in range(PARTITIONS)})
        view.elect_preferred(TOPIC, list(range(PARTITIONS)))
        chaos.await_progress()


def both_kinds_control(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """The leader of the quorum is killed until both programs have led it, and each has made a
    decision that holds under the other."""
    seen: set[str] = set()
    for number in range(CHANGES_MAX):
        seen.add(cluster.node(view.await_controller()).program.name)
        view.create_topic(f"decided-{number}")
        if len(seen) == 2:
            break
        chaos.do("kill controller")
    assert seen == {APACHE.name, BARNABAS.name}
    for earlier in range(number):
        view.await_in_sync(f"decided-{earlier}")
    segment = "__cluster_metadata-0/00000000000000000000.log"
    until(lambda: len({(node.data / segment).read_bytes() for node in cluster.controllers}) == 1, "the voters' logs are the same bytes")


def test_a_barnabas_broker_serves_under_kafkas_controllers() -> None:
    survived([every_broker_leads], seed=1, brokers=3, controllers=1, programs={1: BARNABAS, 2: APACHE, 3: BARNABAS, 101: APACHE})


@pytest.mark.soak
def test_a_kafka_broker_serves_under_barnabas_controllers() -> None:
    survived([every_broker_leads], seed=2, brokers=3, controllers=1, programs={1: BARNABAS, 2: APACHE, 3: BARNABAS, 101: BARNABAS})


def test_kafka_and_barnabas_serve_together_over_sasl_ssl_with_acls() -> None:
    """Each program logs in at the other, and both decide by the ACLs and users that Kafka's
    controller wrote."""
    programs: dict[int, Program] = {1: BARNABAS, 2: APACHE, 3: BARNABAS, 101: APACHE}
    survived([every_broker_leads], seed=5, brokers=3, controllers=1, programs=programs, secured=True)


@pytest.mark.soak
def test_barnabas_controllers_lead_kafka_brokers_over_sasl_ssl_with_acls() -> None:
    programs: dict[int, Program] = {1: BARNABAS, 2: APACHE, 3: BARNABAS, 101: BARNABAS}
    survived([every_broker_leads], seed=6, brokers=3, controllers=1, programs=programs, secured=True)


@pytest.mark.soak
def test_a_mixed_quorum_elects_a_surviving_voter() -> None:
    programs: dict[int, Program] = {1: BARNABAS, 2: BARNABAS, 3: BARNABAS, 101: BARNABAS, 102: APACHE, 103: APACHE}
    survived([both_kinds_control], seed=3, brokers=3, controllers=3, programs=programs)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
def test_mixed_combined_nodes_survive_kills(transactional: bool) -> None:
    programs: dict[int, Program] = {1: BARNABAS, 2: APACHE, 3: BARNABAS}
    deeds = ["kill leader", "kill follower", "kill controller", "kill coordinator"] * 3
    survived([every_broker_leads, both_kinds_control, *deeds], seed=4, transactional=transactional, programs=programs)
