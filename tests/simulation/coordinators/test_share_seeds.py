"""Leaders of share partitions out of seeds. A seed that fails is the bug report::

python -m tests.simulation.coordinators.test_share_seeds 1234
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from functools import partial

import pytest

from tests.simulation.coordinators.node import DATA_PARTITIONS
from tests.simulation.coordinators.share_leaders import ShareWitness
from tests.simulation.coordinators.world import Client, World

STEPS = 1_500
SHORT_SEEDS = range(60)
LONG_SEEDS = 5_000


def play(seed: int) -> Counter[str]:
    """One history. Its events are counted: a run in which nothing happens proves nothing."""
    world = World(seed)
    witness = ShareWitness(world)
    world.clients.append(Client(world, "group coordinator", witness.initializer, in_order=True))
    for index in range(DATA_PARTITIONS):
        world.clients += [Client(world, f"leader {index}", partial(witness.leader, index), in_order=True) for _ in range(2)]
    try:
        world.run(STEPS)
        world.come_to_rest()
        witness.replay()
    except Exception as failure:
        failure.add_note(f"seed {seed}: python -m tests.simulation.coordinators.test_share_seeds {seed}\n{world.events}")
        raise
    return witness.counts + Counter(upheavals=len(world.events))


def test_no_confirmed_delivery_is_lost_and_every_state_survives_its_reload() -> None:
    seen: Counter[str] = Counter()
    for seed in SHORT_SEEDS:
        seen += play(seed)
    assert all(seen[what] > len(SHORT_SEEDS) for what in ("writes", "reads", "replays", "pruned", "upheavals")), seen
    assert seen["fenced"] > 0


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_no_confirmed_delivery_is_lost_in_thousands_of_histories() -> None:
    chance = random.SystemRandom()
    for _ in range(LONG_SEEDS):
        play(chance.randrange(1 << 30))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(f"{argument}: {dict(play(int(argument)))}\n")
