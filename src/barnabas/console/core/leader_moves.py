"""Partitions whose leader is not the preferred one. Pure.

The first replica of a partition is its preferred leader. An election moves the lead there if that
replica is in sync.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.console.core.topic import Topic


@dataclass(frozen=True, slots=True)
class LeaderMove:
    topic: str
    partition: int
    leader: int | None
    preferred: int
    is_possible: bool
    """The preferred leader is in sync."""


@dataclass(frozen=True, slots=True)
class BrokerLeads:
    broker: int
    now: int
    then: int


def leader_moves(topics: Iterable[Topic]) -> list[LeaderMove]:
    return [
        LeaderMove(topic.name, each.id, each.leader if each.leader >= 0 else None, each.replicas[0], each.replicas[0] in each.isr)
        for topic in topics
        for each in topic.partitions
        if each.replicas and each.leader != each.replicas[0]
    ]


def broker_leads(topics: Iterable[Topic], moves: Iterable[LeaderMove]) -> list[BrokerLeads]:
    """How many partitions each broker leads now, and after the moves that are possible."""
    topics = list(topics)
    now = Counter(each.leader for topic in topics for each in topic.partitions if each.leader >= 0)
    then = Counter(now)
    for each in moves:
        if each.is_possible:
            then[each.preferred] += 1
            if each.leader is not None:
                then[each.leader] -= 1
    brokers = sorted({broker for topic in topics for each in topic.partitions for broker in each.replicas} | set(now))
    return [BrokerLeads(broker, now[broker], then[broker]) for broker in brokers]
