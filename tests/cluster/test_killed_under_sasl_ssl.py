"""Brokers of a cluster with SASL_SSL and ACLs are killed with ``kill -9``: acknowledged records
stay, and groups and transactions continue.

The same faults as in ``test_failover`` and ``test_exactly_once_in_a_cluster``. A node that starts
again must log in to the others before it has any metadata, and clients log in with SCRAM, whose
users it knows only from the metadata log.
"""

from __future__ import annotations

import random

import pytest

from peers.apache_kafka import why_missing
from tests.cluster.chaos import survived
from tests.cluster.copiers import Kind
from tests.cluster.several_nodes import copied_in_a_cluster

LONG_ROUNDS = 30
COPIERS = [Kind("java", protocol="consumer"), Kind(protocol="consumer")]
needs_java = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


def test_a_secured_cluster_survives_killed_leaders_controllers_and_coordinators() -> None:
    survived(["kill leader", "kill controller", "kill coordinator"], seed=5, secured=True)


@pytest.mark.parametrize("_", [pytest.param(None, marks=needs_java, id="java and librdkafka")])
def test_every_record_is_copied_once_when_brokers_of_a_secured_cluster_are_killed(_: None) -> None:
    copied_in_a_cluster(COPIERS, ["kill node", "kill copier and node"], seed=8, secured=True)


@pytest.mark.soak
def test_transactions_survive_killed_brokers_and_separate_controllers_under_sasl_ssl() -> None:
    survived(["kill leader", "kill controller", "stop leader"], seed=6, transactional=True, controllers=3, secured=True)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("_", [pytest.param(None, marks=needs_java, id="java and librdkafka")])
def test_every_record_is_copied_once_in_many_rounds_of_a_secured_cluster(_: None) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    deeds = ["kill copier", "kill node", "kill copier and node", "zombie"]
    copied_in_a_cluster(COPIERS, [chance.choice(deeds) for _ in range(LONG_ROUNDS)], seed, secured=True)
