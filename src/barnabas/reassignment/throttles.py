"""Throttles of moves: the replicas that they are about, and the settings that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from barnabas.reassignment.assignment import PartitionName

# Of topics: the replicas that a throttle is about.
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
# Of brokers: bytes a second.
LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"


class Move(NamedTuple):
    """A partition on the move. Its leader is among the sources."""

    sources: frozenset[int]
    targets: frozenset[int]


def leader_throttles(moves: Mapping[PartitionName, Move]) -> dict[str, str]:
    """By topic: ``partition:broker`` of all replicas that may have to send."""
    return _throttled((partition, broker) for partition, move in moves.items() for broker in move.sources)


def follower_throttles(moves: Mapping[PartitionName, Move]) -> dict[str, str]:
    """By topic: ``partition:broker`` of all replicas that fetch from the beginning."""
    return _throttled((partition, broker) for partition, move in moves.items() for broker in move.targets)


def _throttled(replicas: Iterable[tuple[PartitionName, int]]) -> dict[str, str]:
    by_topic: dict[str, list[str]] = {}
    for partition, broker in sorted(replicas):
        by_topic.setdefault(partition.topic, []).append(f"{partition.number}:{broker}")
    return {topic: ",".join(each) for topic, each in by_topic.items()}
