"""The load of each broker: partitions that it leads and holds, and the bytes in its directories.
Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.console.core.health import Disk
from barnabas.console.core.topic import Topic


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    id: int
    address: str | None
    """None for a broker that is down."""
    rack: str | None
    is_fenced: bool
    is_controller: bool
    leads: int
    preferred: int
    """Partitions that it would lead after an election of preferred leaders."""
    replicas: int
    out_of_sync: int
    """Replicas of the broker that are not in sync."""
    size_bytes: int | None
    disks: list[Disk]
    version: str | None
    """The highest metadata version that the broker supports."""


@dataclass(frozen=True, slots=True)
class Duties:
    leads: Counter[int]
    preferred: Counter[int]
    replicas: Counter[int]
    out_of_sync: Counter[int]


def duties(topics: Iterable[Topic]) -> Duties:
    found = Duties(Counter(), Counter(), Counter(), Counter())
    for topic in topics:
        for each in topic.partitions:
            if each.leader >= 0:
                found.leads[each.leader] += 1
            found.preferred.update(each.replicas[:1])
            found.replicas.update(each.replicas)
            found.out_of_sync.update(set(each.replicas) - set(each.isr))
    return found
