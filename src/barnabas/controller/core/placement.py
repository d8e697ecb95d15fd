"""Which brokers get the replicas of new partitions: evenly, and spread over racks.

Leaders are dealt out like cards: one rack after the other, within a rack one broker after the
other. The first replica of a partition is its preferred leader, so leaders come out even. Followers
then go to the brokers with the fewest replicas, leaders included, and to racks without the
partition before racks that have it. Together, brokers differ by one replica at most wherever racks
allow it: six brokers, ten partitions and three replicas make five each. A random start keeps many
small topics from all beginning at the same broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class PlacementFailed(ValueError):
    """The replicas cannot be placed; the text is one sentence for the client."""


class Candidate(NamedTuple):
    broker_id: int
    rack: str | None
    # false for fenced brokers: they may come back, so they are placed last and should not lead
    usable: bool


def place(candidates: Sequence[Candidate], *, partitions: int, replication_factor: int, below: Callable[[int], int]) -> list[list[int]]:
    """The replicas of each partition, preferred leader first. ``below(n)`` is a random number under
    ``n``."""
    if replication_factor > len(candidates):
        raise PlacementFailed(
            f"The target replication factor of {replication_factor} cannot be reached because only {len(candidates)} "
            "broker(s) are registered or some brokers have all their log directories cordoned."
        )
    usable = [each for each in candidates if each.usable]
    if not usable:
        raise PlacementFailed("All brokers are currently fenced, or have all their log directories cordoned.")
    dealt = _deal(usable)
    fenced = [each.broker_id for each in candidates if not each.usable]
    rack_of = {each.broker_id: each.rack for each in candidates}
    start = below(len(dealt))
    leaders = [dealt[(start + index) % len(dealt)] for index in range(partitions)]
    load = Counter(dict.fromkeys(dealt, 0))
    load.update(leaders)
    placed = []
    for index, leader in enumerate(leaders):
        # After each full round the followers shift against the leaders, so that the load of a lost
        # broker spreads.
        first = (start + index) % len(dealt)
        shift = (index // len(dealt)) % max(1, len(dealt) - 1)
        others = dealt[first + 1 :] + dealt[:first]
        others = others[shift:] + others[:shift]
        followers = _spread(leader, others, rack_of, load, replication_factor - 1)
        missing = replication_factor - 1 - len(followers)
        away = [fenced[(index + number) % len(fenced)] for number in range(missing)]
        placed.append([leader, *followers, *away])
    _even_out(placed, rack_of, load)
    return placed


def _deal(brokers: Sequence[Candidate]) -> list[int]:
    """Broker ids, alternating between racks."""
    racks: dict[str | None, list[int]] = {}
    for each in sorted(brokers, key=lambda each: each.broker_id):
        racks.setdefault(each.rack, []).append(each.broker_id)
    columns = [racks[rack] for rack in sorted(racks, key=lambda rack: rack or "")]
    return [column[row] for row in range(max(map(len, columns))) for column in columns if row < len(column)]


def _spread(leader: int, others: list[int], rack_of: Mapping[int, str | None], load: Counter[int], count: int) -> list[int]:
    """Choose up to ``count`` followers: unused racks first, and among those the brokers with the
    fewest replicas."""
    chosen: list[int] = []
    used = {rack_of[leader]}
    left = list(others)
    while left and len(chosen) < count:
        broker = min(left, key=lambda each: (rack_of[each] in used, load[each]))
        left.remove(broker)
        chosen.append(broker)
        used.add(rack_of[broker])
        load[broker] += 1
    return chosen


def _even_out(placed: list[list[int]], rack_of: Mapping[int, str | None], load: Counter[int]) -> None:
    """The last partitions may find that their own leaders are the emptiest brokers, so exchange
    followers until the load is even."""
    while True:
        fullest, emptiest = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
        if load[fullest] - load[emptiest] < 2:
            return
        for replicas in placed:
            if fullest in replicas[1:] and emptiest not in replicas:
                exchanged = [emptiest if each == fullest else each for each in replicas]
                if len({rack_of[each] for each in exchanged}) >= len({rack_of[each] for each in replicas}):
                    replicas[:] = exchanged
                    break
        else:
            return
        load[fullest] -= 1
        load[emptiest] += 1
