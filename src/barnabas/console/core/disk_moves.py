"""Moves of replicas between the directories of one broker. Pure.

While a replica moves, the broker has it twice: the copy in the new directory is *future* until it
has caught up, and then takes the place of the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.console.core.topic import ReplicaSize
from barnabas.console.errors import BadValue


@dataclass(frozen=True, slots=True)
class DiskMove:
    topic: str
    partition: int
    source: str
    target: str
    copied_bytes: int
    total_bytes: int
    records_behind: int

    @property
    def share(self) -> float:
        """From 0 to 1. A copy that lags behind is never complete, whatever its size."""
        if self.records_behind <= 0:
            return 1.0
        return min(0.99, self.copied_bytes / self.total_bytes) if self.total_bytes > 0 else 0.0


@dataclass(frozen=True, slots=True)
class DiskMovePlan:
    moves: list[DiskMove]
    bytes_to_copy: int
    unmoved: list[str]
    """Replicas that are there already or do not exist, as sentences."""


def moves_under_way(replicas: Iterable[ReplicaSize]) -> list[DiskMove]:
    known = list(replicas)
    current = {(each.topic, each.partition): each for each in known if not each.is_future}
    found = []
    for each in known:
        source = current.get((each.topic, each.partition))
        if each.is_future and source is not None:
            behind = max(0, each.offset_lag)
            found.append(DiskMove(each.topic, each.partition, source.directory, each.directory, each.size_bytes, source.size_bytes, behind))
    return sorted(found, key=lambda each: (each.topic, each.partition))


def plan_moves(replicas: Iterable[ReplicaSize], wanted: Iterable[tuple[str, int]], target: str) -> DiskMovePlan:
    current = {(each.topic, each.partition): each for each in replicas if not each.is_future}
    moves: list[DiskMove] = []
    unmoved: list[str] = []
    for topic, partition in wanted:
        found = current.get((topic, partition))
        if found is None:
            unmoved.append(f"The broker has no replica of {topic}/{partition}.")
        elif found.directory == target:
            unmoved.append(f"{topic}/{partition} is in {target} already.")
        else:
            moves.append(DiskMove(topic, partition, found.directory, target, 0, found.size_bytes, 0))
    return DiskMovePlan(moves, sum(each.total_bytes for each in moves), unmoved)


def read_replicas(texts: Iterable[str]) -> list[tuple[str, int]]:
    """``orders/3`` is partition 3 of the topic orders."""
    found = []
    for text in texts:
        topic, slash, partition = text.rpartition("/")
        if not slash or not topic or not partition.isdecimal() or len(partition) > 10:
            raise BadValue(f"A replica is written as TOPIC/PARTITION, and not as {text[:100]!r}.", "replicas")
        found.append((topic, int(partition)))
    return list(dict.fromkeys(found))
