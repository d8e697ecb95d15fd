"""Which brokers get the replicas of new partitions: evenly, and spread over racks.

Brokers are dealt out like cards: one rack after the other, within a rack one broker after the other, and each next partition starts
one further. The first replica of a partition is its preferred leader, so leaders come out even too. A random start keeps many
small topics from all beginning at the same broker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class PlacementFailed(ValueError):
    """One sentence for the client."""


class Candidate(NamedTuple):
    broker_id: int
    rack: str | None
    usable: bool  # fenced brokers are placed last: they may come back, but should not lead


def place(candidates: Sequence[Candidate], *, partitions: int, replication_factor: int, below: Callable[[int], int]) -> list[list[int]]:
    """Replicas for each partition, preferred leader first. ``below(n)`` is a random number under ``n``."""
    if replication_factor > len(candidates):
        raise PlacementFailed(
            f"The target replication factor of {replication_factor} cannot be reached because only {len(candidates)} "
            "broker(s) are registered."
        )
    usable = [each for each in candidates if each.usable]
    if not usable:
        raise PlacementFailed("All brokers are currently fenced.")
    dealt = _deal(usable)
    fenced = [each.broker_id for each in candidates if not each.usable]
    start = below(len(dealt))
    placed = []
    for index in range(partitions):
        # After each full round the followers shift against the leaders, so that the load of a lost broker spreads.
        first = (start + index) % len(dealt)
        shift = (index // len(dealt)) % max(1, len(dealt) - 1)
        others = dealt[first + 1 :] + dealt[:first]
        others = others[shift:] + others[:shift]
        placed.append([dealt[first], *_spread(dealt[first], others, candidates, replication_factor - 1, fenced)])
    return placed


def _deal(brokers: Sequence[Candidate]) -> list[int]:
    """Broker ids, alternating between racks."""
    racks: dict[str | None, list[int]] = {}
    for each in sorted(brokers, key=lambda each: each.broker_id):
        racks.setdefault(each.rack, []).append(each.broker_id)
    columns = [racks[rack] for rack in sorted(racks, key=lambda rack: rack or "")]
    return [column[row] for row in range(max(map(len, columns))) for column in columns if row < len(column)]


def _spread(leader: int, others: list[int], candidates: Sequence[Candidate], count: int, fenced: list[int]) -> list[int]:
    """``count`` followers: racks not used yet first, then whatever is left, fenced brokers last."""
    rack_of = {each.broker_id: each.rack for each in candidates}
    chosen: list[int] = []
    used = {rack_of[leader]}
    for broker in others:
        if len(chosen) < count and rack_of[broker] not in used:
            chosen.append(broker)
            used.add(rack_of[broker])
    rest = [broker for broker in others + fenced if broker not in chosen]
    return chosen + rest[: count - len(chosen)]
