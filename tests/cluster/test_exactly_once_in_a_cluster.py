"""The copiers of ``test_exactly_once`` in a cluster of three brokers that are killed one after the
other.
"""

from __future__ import annotations

import random

import pytest

from peers.apache_kafka import why_missing
from tests.cluster.copiers import Kind
from tests.cluster.several_nodes import copied_in_a_cluster

DEEDS = ("kill copier", "kill node", "kill copier and node", "zombie")
LONG_ROUNDS = 60
KINDS = {
    "librdkafka": [Kind(), Kind(), Kind(protocol="classic", static=True)],
    "java": [Kind("java", protocol="consumer"), Kind(protocol="consumer")],
}
needs_java = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


def test_every_record_is_copied_once_when_brokers_of_a_cluster_are_killed() -> None:
    copied_in_a_cluster(KINDS["librdkafka"], ["kill node", "kill copier", "kill copier and node"], seed=7)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kinds", [pytest.param(KINDS["librdkafka"]), pytest.param(KINDS["java"], marks=needs_java)], ids=KINDS)
def test_every_record_is_copied_once_in_many_rounds_of_killed_brokers(kinds: list[Kind]) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    copied_in_a_cluster(kinds, [chance.choice(DEEDS) for _ in range(LONG_ROUNDS)], seed)
