"""The controllers' quorum in detail. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica of the metadata log, as the leader of the quorum describes it."""

    id: int
    directory_id: str | None
    log_end_offset: int
    fetched_ms: int
    """Timestamps are -1 when the leader does not tell."""
    caught_up_ms: int


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    id: int
    role: Literal["leader", "voter", "observer"]
    directory_id: str | None
    endpoints: list[str]
    log_end_offset: int
    lag: int
    """Records of metadata that the replica does not have yet."""
    fetched_ms_ago: int | None
    caught_up_ms_ago: int | None


@dataclass(frozen=True, slots=True)
class QuorumState:
    leader: int | None
    epoch: int
    high_watermark: int
    replicas: list[QuorumReplica]
    """Voters before observers."""


def quorum_state(
    *,
    leader: int,
    epoch: int,
    high_watermark: int,
    voters: Iterable[Replica],
    observers: Iterable[Replica],
    endpoints: Mapping[int, list[str]],
    now_ms: int,
) -> QuorumState:
    voters, observers = list(voters), list(observers)
    end = next((each.log_end_offset for each in voters if each.id == leader), high_watermark)

    def shown(each: Replica, role: Literal["leader", "voter", "observer"]) -> QuorumReplica:
        return QuorumReplica(
            each.id,
            role,
            each.directory_id,
            endpoints.get(each.id, []),
            each.log_end_offset,
            max(0, end - each.log_end_offset),
            max(0, now_ms - each.fetched_ms) if each.fetched_ms > 0 else None,
            max(0, now_ms - each.caught_up_ms) if each.caught_up_ms > 0 else None,
        )

    replicas = [shown(each, "leader" if each.id == leader else "voter") for each in sorted(voters, key=lambda each: each.id)]
    replicas += [shown(each, "observer") for each in sorted(observers, key=lambda each: each.id)]
    return QuorumState(leader if leader >= 0 else None, epoch, high_watermark, replicas)
