"""Plans that move partitions between brokers: what each move copies, before it runs, and how far it
is while it runs. Pure.

A plan has a digest, so that a person starts exactly the plan that the page has shown: if the
cluster has changed meanwhile, the digest of the plan made again differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.console.core.topic import ReplicaSize, Topic
from barnabas.reassignment.assignment import Assignment, PartitionName


@dataclass(frozen=True, slots=True)
class PlannedMove:
    topic: str
    partition: int
    before: list[int]
    after: list[int]
    adding: list[int]
    removing: list[int]
    copied_bytes: int | None
    """What the new replicas copy in all; None if no broker tells the size."""


@dataclass(frozen=True, slots=True)
class BrokerChange:
    broker: int
    replicas_before: int
    replicas_after: int
    leads_before: int
    """As the preferred leader, of the partitions of the plan."""
    leads_after: int
    incoming_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    digest: str
    partitions: int
    """That were looked at; those without a change are not among the moves."""
    moves: list[PlannedMove]
    brokers: list[BrokerChange]
    copied_bytes: int | None


@dataclass(frozen=True, slots=True)
class OngoingMove:
    topic: str
    partition: int
    replicas: list[int]
    """Of now: those that stay, come and go."""
    adding: list[int]
    removing: list[int]
    copied_bytes: int | None
    total_bytes: int | None
    records_behind: int | None

    @property
    def share(self) -> float | None:
        if self.total_bytes is None or self.copied_bytes is None:
            return None
        return min(1.0, self.copied_bytes / self.total_bytes) if self.total_bytes else 1.0


def assignment_of(topics: Iterable[Topic], going: Mapping[PartitionName, Sequence[int]]) -> Assignment:
    """``going`` are the replicas that a running reassignment removes."""
    names = ((PartitionName(topic.name, each.id), each.replicas) for topic in topics for each in topic.partitions)
    return {name: [each for each in replicas if each not in going.get(name, ())] for name, replicas in names}


def plan(
    current: Mapping[PartitionName, Sequence[int]], proposed: Mapping[PartitionName, Sequence[int]], sizes: Mapping[PartitionName, int]
) -> Plan:
    """``sizes`` are those of the leaders' replicas; a partition of unknown size is missing."""
    moves = [
        _planned(each, list(current[each]), list(after), sizes.get(each))
        for each, after in sorted(proposed.items())
        if list(after) != list(current[each])
    ]
    known = [each.copied_bytes for each in moves if each.copied_bytes is not None]
    copied = sum(known) if len(known) == len(moves) else None
    return Plan(_digest(moves), len(proposed), moves, _broker_changes(current, proposed, moves), copied)


def ongoing_move(
    name: PartitionName, replicas: Sequence[int], adding: Sequence[int], removing: Sequence[int], leader: int, sizes: Iterable[ReplicaSize]
) -> OngoingMove:
    """``sizes`` are those of the partition's replicas, as far as brokers tell them."""
    by_broker = {each.broker: each for each in sizes if not each.is_future}
    source = by_broker.get(leader)
    coming = [by_broker[each] for each in adding if each in by_broker]
    total = None if source is None else source.size_bytes * len(adding)
    copied = None if source is None else sum(min(each.size_bytes, source.size_bytes) for each in coming)
    # A replica that has just been made tells no lag.
    behind = max((each.offset_lag for each in coming if each.offset_lag >= 0), default=None)
    return OngoingMove(name.topic, name.number, list(replicas), list(adding), list(removing), copied, total, behind)


def _planned(name: PartitionName, before: list[int], after: list[int], size: int | None) -> PlannedMove:
    adding = [each for each in after if each not in before]
    removing = [each for each in before if each not in after]
    copied = 0 if not adding else None if size is None else size * len(adding)
    return PlannedMove(name.topic, name.number, before, after, adding, removing, copied)


def _broker_changes(
    current: Mapping[PartitionName, Sequence[int]], proposed: Mapping[PartitionName, Sequence[int]], moves: list[PlannedMove]
) -> list[BrokerChange]:
    before, after = [current[each] for each in proposed], list(proposed.values())
    brokers = sorted({each for replicas in [*before, *after] for each in replicas})
    return [
        BrokerChange(
            broker,
            sum(broker in each for each in before),
            sum(broker in each for each in after),
            sum(list(each[:1]) == [broker] for each in before),
            sum(list(each[:1]) == [broker] for each in after),
            sum((each.copied_bytes or 0) // len(each.adding) for each in moves if broker in each.adding),
        )
        for broker in brokers
    ]


def _digest(moves: list[PlannedMove]) -> str:
    text = json.dumps([[each.topic, each.partition, each.before, each.after] for each in moves])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
