"""The copiers in a cluster of three brokers on a machine that is too busy: all of them share one
core with a busy neighbour, and brokers and copiers are paused for 50 to 3,000 ms at a time. Every
record is copied once, in order, and only a bug of its own client explains a copier that hangs.
"""

from __future__ import annotations

import random

import pytest

from peers.apache_kafka import why_missing
from tests.cluster.copiers import Kind
from tests.cluster.several_nodes import copied_in_a_cluster
from tests.cluster.starvation import busy_neighbours

DEEDS = ("starve", "starve", "starve and kill copier", "starve and kill node", "zombie and starve")
LONG_ROUNDS = 200

needs_java = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]
# Both clients and both group protocols; static members only where a successor need not wait for the
# session of its predecessor.
COPIERS = {
    "classic": pytest.param([Kind(), Kind("java"), Kind(static=True)], id="classic", marks=needs_java),
    "consumer": pytest.param([Kind("java", protocol="consumer"), Kind(protocol="consumer")], id="consumer", marks=needs_java),
    "librdkafka": pytest.param([Kind(), Kind(), Kind(static=True)], id="librdkafka"),
}
SHORT = [COPIERS["classic"], COPIERS["consumer"]] if why_missing() is None else [COPIERS["librdkafka"]]


@pytest.mark.parametrize("kinds", SHORT)
def test_starved_brokers_and_copiers_copy_everything_once(kinds: list[Kind]) -> None:
    with busy_neighbours():
        copied_in_a_cluster(kinds, ["starve", "starve and kill copier", "starve"], seed=11)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kinds", COPIERS.values())
def test_starved_brokers_and_copiers_copy_everything_once_in_many_rounds(kinds: list[Kind]) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    with busy_neighbours():
        copied_in_a_cluster(kinds, [chance.choice(DEEDS) for _ in range(LONG_ROUNDS)], seed)
