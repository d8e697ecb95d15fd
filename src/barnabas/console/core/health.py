"""Health of a cluster at a glance: numbers, and one word for all of them. Pure.

=========  =======================================================================
word       when
=========  =======================================================================
down       no broker answers
bad        a partition has no leader, a directory has failed, or no controller leads
degraded   a replica is out of sync, a broker is fenced, or a disk is nearly full
good       none of these
=========  =======================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

HealthWord = Literal["good", "degraded", "bad", "down"]
# A disk that is fuller than this is about to stop its broker.
DISK_USED_SHARE_MAX: Final = 0.9
# A voter whose log ends this many records behind the leader's does not follow.
QUORUM_LAG_MAX: Final = 1_000


class PartitionState(Protocol):
    @property
    def is_offline(self) -> bool: ...
    @property
    def is_under_replicated(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    topics: int
    partitions: int
    offline: int
    under_replicated: int


@dataclass(frozen=True, slots=True)
class QuorumMember:
    id: int
    role: Literal["leader", "voter", "observer"]
    log_end_offset: int
    lag: int
    caught_up_ms_ago: int | None
    """Milliseconds since the member had all records; None if unknown."""


@dataclass(frozen=True, slots=True)
class Disk:
    broker: int
    path: str
    total_bytes: int
    usable_bytes: int
    error: str | None
    is_cordoned: bool = False

    @property
    def used_share(self) -> float | None:
        return None if self.total_bytes <= 0 or self.usable_bytes < 0 else 1 - self.usable_bytes / self.total_bytes


@dataclass(frozen=True, slots=True)
class Finding:
    severity: HealthWord
    sentence: str


def count_partitions(topics: Iterable[Iterable[PartitionState]]) -> PartitionCounts:
    counted_topics = partitions = offline = under_replicated = 0
    for topic in topics:
        counted_topics += 1
        for each in topic:
            partitions += 1
            offline += each.is_offline
            under_replicated += each.is_under_replicated
    return PartitionCounts(counted_topics, partitions, offline, under_replicated)


def quorum_members(
    leader: int, voters: Iterable[tuple[int, int, int]], observers: Iterable[tuple[int, int, int]], now_ms: int
) -> list[QuorumMember]:
    """Members are (id, log end offset, last time that it was caught up)."""
    voters, observers = list(voters), list(observers)
    end = max((each[1] for each in voters if each[0] == leader), default=max((each[1] for each in voters), default=0))
    members = [_member(each, "leader" if each[0] == leader else "voter", end, now_ms) for each in voters]
    return members + [_member(each, "observer", end, now_ms) for each in observers]


def findings(
    counts: PartitionCounts, *, controller: int | None, fenced: Iterable[int], disks: Iterable[Disk], quorum: Iterable[QuorumMember]
) -> list[Finding]:
    """The worst first."""
    found: list[Finding] = []
    if counts.offline:
        found.append(Finding("bad", f"{counts.offline} of {counts.partitions} partitions have no leader."))
    if controller is not None and controller < 0:
        found.append(Finding("bad", "No controller leads the quorum."))
    for disk in disks:
        share = disk.used_share
        if disk.error is not None:
            found.append(Finding("bad", f"The directory {disk.path} of broker {disk.broker} has failed: {disk.error}."))
        elif share is not None and share > DISK_USED_SHARE_MAX:
            found.append(Finding("degraded", f"The disk of {disk.path} on broker {disk.broker} is {share:.0%} full."))
    if counts.under_replicated:
        found.append(Finding("degraded", f"{counts.under_replicated} of {counts.partitions} partitions have replicas out of sync."))
    found += [Finding("degraded", f"Broker {each} is fenced.") for each in fenced]
    found += [
        Finding("degraded", f"Controller {each.id} is {each.lag} records of metadata behind.")
        for each in quorum
        if each.role == "voter" and each.lag > QUORUM_LAG_MAX
    ]
    return sorted(found, key=lambda each: each.severity != "bad")


def health_word(found: Iterable[Finding]) -> HealthWord:
    words = {each.severity for each in found}
    return "bad" if "bad" in words else "degraded" if "degraded" in words else "good"


def _member(given: tuple[int, int, int], role: Literal["leader", "voter", "observer"], end: int, now_ms: int) -> QuorumMember:
    member, offset, caught_up = given
    return QuorumMember(member, role, offset, max(0, end - offset), max(0, now_ms - caught_up) if caught_up > 0 else None)
