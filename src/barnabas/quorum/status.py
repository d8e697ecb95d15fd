"""The quorum as a leader or a follower sees it, for DescribeQuorum and the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """The progress of one replica of the metadata log. Times are wall clock times, -1 where there
    is none."""

    replica_id: int
    directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """The view of the leader. Other nodes know the leader and the voters, and nothing about their
    progress."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    leading: bool = True
    # Listener name, host and port of each voter.
    nodes: Mapping[int, Sequence[tuple[str, str, int]]] = field(default_factory=dict)
