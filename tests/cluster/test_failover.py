"""Nodes of a cluster are killed, stopped, paused and cut off while clients work: nothing
acknowledged is lost, duplicated or out of order.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from peers.cluster import Cluster
from tests.cluster.chaos import LONG_SECONDS, TARGETS, VERBS, Chaos, survived
from tests.cluster.view import View

LONG_ROUNDS = 40
Deed = str | Callable[[Chaos, Cluster, View], None]
NETWORK = ("cut off", "cut off altogether", "deafen", "mute")


def kill_everyone(chaos: Chaos, cluster: Cluster, view: View) -> None:
    chaos.kill_everyone()


def test_a_cluster_survives_killed_leaders_followers_controllers_and_coordinators_and_all_nodes_at_once() -> None:
    # All deeds share one cluster, because starting one and reading it at the end take longer than a
    # deed.
    deeds: list[Deed] = [
        "kill leader",
        "kill follower",
        "kill controller",
        "kill coordinator",
        "stop coordinator",
        kill_everyone,
        kill_everyone,
    ]
    survived(deeds, seed=1)


@pytest.mark.soak
def test_transactions_survive_killed_brokers_and_separate_controllers() -> None:
    survived(["kill leader", "kill controller", "stop leader"], seed=2, transactional=True, controllers=3)


def test_a_cluster_survives_paused_leaders_and_controllers() -> None:
    survived(["pause leader", "pause controller"], seed=3, hold_seconds=5)


def test_a_cluster_survives_leaders_and_controllers_without_network() -> None:
    survived(["cut off leader", "cut off altogether controller", "deafen leader"], seed=4, proxied=True)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("brokers", [3, 5])
@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
@pytest.mark.parametrize("verbs", [("kill", "stop"), ("pause",), NETWORK, VERBS], ids=["kill", "pause", "network", "everything"])
def test_a_cluster_survives_many_rounds_of_random_faults(verbs: tuple[str, ...], transactional: bool, brokers: int) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    deeds = [f"{chance.choice(verbs)} {chance.choice(TARGETS)}" for _ in range(LONG_ROUNDS)]
    network = any(verb in NETWORK for verb in verbs)
    hold_seconds = LONG_SECONDS if verbs == ("pause",) else 5.0
    survived(deeds, seed=seed, transactional=transactional, proxied=network, brokers=brokers, hold_seconds=hold_seconds)
