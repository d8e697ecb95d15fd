"""Scripts out of seeds. A seed that fails is the bug report::

python -m tests.simulation.coordinators.test_seeds 1234
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest

from tests.simulation.coordinators.classic_members import CLASSIC, ClassicWitness, classic_members
from tests.simulation.coordinators.consumer_members import CONSUMER, ConsumerMember, ConsumerWitness
from tests.simulation.coordinators.mixed_members import MIXED, MixedClassicMember, MixedWitness
from tests.simulation.coordinators.offsets import OffsetWitness, Reference, reader
from tests.simulation.coordinators.producers import GROUP, Ledger, Producer
from tests.simulation.coordinators.share_members import SHARE, ShareMember, ShareWitness, share_administrator
from tests.simulation.coordinators.streams_members import STREAMS, StreamsMember, StreamsWitness
from tests.simulation.coordinators.world import Client, World

STEPS = 2_000
SHORT_SEEDS = range(200)
LONG_SEEDS = 5_000


def play(seed: int) -> Counter[str]:
    """One history. Its events are counted: a run in which nothing happens proves nothing."""
    world = World(seed)
    ledger = Ledger(world)
    offsets = OffsetWitness(world, Reference(world))
    share = ShareWitness(world)
    classic, consumer, mixed = ClassicWitness(world), ConsumerWitness(world), MixedWitness(world)
    streams = StreamsWitness(world)
    clients = world.clients
    for transactional_id, version in (("new", 2), ("old", 0)):
        for _ in range(2):
            script = Producer(world, ledger, transactional_id, version=version).script
            clients.append(Client(world, transactional_id, script, in_order=version == 0))
    clients += [Client(world, name, script) for name, script in classic_members(world)]
    clients += [Client(world, f"{CONSUMER} {n}", ConsumerMember(world, consumer, f"m{n}").script, in_order=True) for n in range(3)]
    clients += [Client(world, f"{MIXED} classic {n}", MixedClassicMember(world).script, in_order=True) for n in range(2)]
    clients += [Client(world, f"{MIXED} {n}", ConsumerMember(world, mixed, f"x{n}").script, in_order=True) for n in range(2)]
    clients += [Client(world, f"{SHARE} {n}", ShareMember(world, f"s{n}").script) for n in range(2)]
    clients.append(Client(world, "administrator", share_administrator(world), in_order=True))
    for number in range(4):
        member = StreamsMember(world, streams, f"s{number}", process=f"p{number // 2}")
        clients.append(Client(world, f"{STREAMS} {number}", member.script, in_order=True))
    clients.append(Client(world, "reader", reader(world, [GROUP, CLASSIC, CONSUMER, MIXED, STREAMS])))
    try:
        world.run(STEPS)
        world.come_to_rest()
        ledger.check()
    except Exception as failure:
        failure.add_note(f"seed {seed}: python -m tests.simulation.coordinators.test_seeds {seed}\n{world.events}")
        raise
    return Counter(
        transactions=sum(account.reported is not None for account in ledger.accounts),
        fetches=offsets.fetches,
        generations=classic.generations,
        epochs=consumer.epochs,
        streams=streams.epochs,
        turns=mixed.turns,
        shares=share.assignments,
        alterations=share.alterations,
        upheavals=len(world.events),
    )


def test_no_acknowledged_transaction_is_lost_duplicated_or_torn() -> None:
    seen: Counter[str] = Counter()
    for seed in SHORT_SEEDS:
        seen += play(seed)
    events = ("transactions", "fetches", "generations", "epochs", "streams", "turns", "shares", "alterations", "upheavals")
    assert all(seen[what] > 2 * len(SHORT_SEEDS) for what in events), seen


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_no_acknowledged_transaction_is_lost_duplicated_or_torn_in_thousands_of_histories() -> None:
    chance = random.SystemRandom()
    for _ in range(LONG_SEEDS):
        play(chance.randrange(1 << 30))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(f"{argument}: {dict(play(int(argument)))}\n")
