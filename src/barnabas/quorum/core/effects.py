"""What a quorum node wants done, in this order. An effect that fails ends the node: later effects rely on earlier ones.

Three want to be told when they are done: :class:`Flush` (which may take its time on another thread), :class:`Truncate` and
:class:`InstallSnapshot`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from barnabas.model.buffers import Buffer
from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.records.control_batch import ControlType


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the quorum state and wait for the disk: a vote that a crash forgets could be given twice."""

    state: QuorumState


@dataclass(frozen=True, slots=True)
class WriteControl:
    """Append a control batch: the leader change that opens an epoch, new voters."""

    epoch: LeaderEpoch
    base_offset: int
    records: tuple[tuple[ControlType, bytes], ...]


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Append one batch of data records, atomic for its readers."""

    epoch: LeaderEpoch
    base_offset: int
    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class WriteFetched:
    """Append batches as the leader has them: checked, whole, with their offsets and epochs."""

    base_offset: int
    batches: Buffer


@dataclass(frozen=True, slots=True)
class Truncate:
    """Remove everything at and above ``end_offset``, durably, then report :class:`~barnabas.quorum.core.events.Truncated`."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Flush:
    """Sync the log up to ``end_offset``, then report :class:`~barnabas.quorum.core.events.Flushed`. May be done in the background."""

    end_offset: int
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Send:
    """Ask another node, and report :class:`~barnabas.quorum.core.events.Answered` with what comes back."""

    request_id: int
    host: str
    port: int
    request: Any
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Reply:
    token: int
    response: Any


@dataclass(frozen=True, slots=True)
class ReplyWithRecords:
    """A fetch response whose records are still in the log."""

    token: int
    response: Any
    offset: int
    size_bytes_max: int


@dataclass(frozen=True, slots=True)
class ReplyWithSnapshot:
    """A piece of a snapshot. The snapshot may be gone when it is read, and the position may be none: the shell knows its size."""

    token: int
    response: Any
    snapshot: OffsetAndEpoch
    position: int
    size_bytes_max: int


@dataclass(frozen=True, slots=True)
class WriteSnapshotPiece:
    """A piece of a snapshot that is being fetched; the first, at position 0, begins it anew."""

    snapshot: OffsetAndEpoch
    position: int
    data: Buffer


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """The last piece is written: check it, make it durable, begin the log behind it, and report
    :class:`~barnabas.quorum.core.events.SnapshotInstalled`, or :class:`~barnabas.quorum.core.events.SnapshotRefused`."""

    snapshot: OffsetAndEpoch


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


@dataclass(frozen=True, slots=True)
class LeaderKnown:
    """Who leads ``epoch`` became known, or (-1) that nobody is known to."""

    leader_id: NodeId
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class Complain:
    """Something that a correct peer does not do; somebody should look at it."""

    problem: str


Effect = (
    Persist
    | WriteControl
    | WriteBatch
    | WriteFetched
    | Truncate
    | Flush
    | Send
    | Reply
    | ReplyWithRecords
    | ReplyWithSnapshot
    | WriteSnapshotPiece
    | InstallSnapshot
    | BecameLeader
    | Committed
    | Resigned
    | LeaderKnown
    | Complain
)
