"""What a quorum node wants done, in this order. An effect that fails ends the node: later effects rely on earlier ones."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.raft.quorum_state import QuorumState


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the quorum state and wait for the disk: a vote that a crash forgets could be given twice."""

    state: QuorumState


@dataclass(frozen=True, slots=True)
class WriteLeaderChange:
    """Append the control batch that opens an epoch."""

    epoch: LeaderEpoch
    leader: NodeId
    voters: tuple[NodeId, ...]
    base_offset: int


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Append one batch of data records, atomic for its readers."""

    epoch: LeaderEpoch
    base_offset: int
    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Flush:
    """Sync the log up to ``end_offset``, then report :class:`~barnabas.raft.events.Flushed`. May be done in the background."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class BecameLeader:
    """This node leads ``epoch``; its log up to ``epoch_start_offset`` must be applied before it decides anything."""

    epoch: LeaderEpoch
    epoch_start_offset: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Everything below ``high_watermark`` is decided for ever."""

    high_watermark: int


@dataclass(frozen=True, slots=True)
class Resigned:
    """This node no longer leads ``epoch``."""

    epoch: LeaderEpoch


Effect = Persist | WriteLeaderChange | WriteBatch | Flush | BecameLeader | Committed | Resigned
