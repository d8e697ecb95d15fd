"""Nodes join and leave, and partitions are moved, while clients work."""

from __future__ import annotations

import random

import pytest

from peers.cluster import Cluster
from tests.cluster.chaos import PARTITIONS, TOPIC, Chaos, survived
from tests.cluster.view import View

LONG_ROUNDS = 20


def restart_all(chaos: Chaos, cluster: Cluster, view: View) -> None:
    chaos.restart_all()


def a_broker_joins_and_takes_over(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """A fourth broker gets a replica of every partition and leads it, and the first broker loses
    all of its replicas."""
    chaos.await_progress()
    cluster.add_broker(4)
    view.await_brokers(1, 2, 3, 4)
    view.reassign(TOPIC, {partition: [4, 2, 3] for partition in range(PARTITIONS)})
    chaos.await_progress()
    view.elect_preferred(TOPIC, list(range(PARTITIONS)))
    chaos.await_progress()


def back_again(chaos: Chaos, cluster: Cluster, view: View) -> None:
    view.reassign(TOPIC, {partition: [1, 2, 3] for partition in range(PARTITIONS)})
    chaos.await_progress()


def every_machine_is_replaced(chaos: Chaos, cluster: Cluster, view: View) -> None:
    for node in cluster.brokers:
        chaos.replace_machine(node)


def test_new_machines_take_over_the_ids_of_lost_ones() -> None:
    survived([every_machine_is_replaced], seed=9, controllers=1)


@pytest.mark.soak
def test_a_rolling_restart_loses_nothing() -> None:
    survived([restart_all], seed=5)


def test_a_broker_joins_and_partitions_move_there_while_nodes_are_killed() -> None:
    survived([a_broker_joins_and_takes_over, "kill leader", back_again], seed=6)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
def test_partitions_move_again_and_again_while_nodes_are_killed_and_restarted(transactional: bool) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)

    def shuffle(chaos: Chaos, cluster: Cluster, view: View) -> None:
        chaos.await_progress()
        view.reassign(TOPIC, {partition: chance.sample(range(1, 6), 3) for partition in range(PARTITIONS)})

    deeds = [deed for _ in range(LONG_ROUNDS) for deed in (shuffle, chance.choice(("kill leader", "kill controller", "stop follower")))]
    survived([*deeds, restart_all], seed=seed, transactional=transactional, brokers=5)
