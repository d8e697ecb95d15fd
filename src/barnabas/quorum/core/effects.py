"""The effects that a quorum node asks for, to be performed in order. An effect that fails ends the
node, because later effects rely on earlier ones.

The shell reports the completion of three of them as an event: :class:`Flush` (which may run on
another thread), :class:`Truncate` and :class:`InstallSnapshot`.
"""

from __future__ import annotations

from typing import Any

from barnabas.model.buffers import Buffer
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.records.control_batch import ControlType


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the quorum state and wait for the disk: a node could vote twice if a crash made it
    forget its vote."""

    state: QuorumState


@dataclass(frozen=True, slots=True)
class WriteControl:
    """Append a control batch: the leader change that opens an epoch, or new voters."""

    epoch: LeaderEpoch
    base_offset: int
    records: tuple[tuple[ControlType, bytes], ...]


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Append one batch of data records, which readers see whole or not at all."""

    epoch: LeaderEpoch
    base_offset: int
    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class WriteFetched:
    """Append batches as the leader has them: checked, complete, with their offsets and epochs."""

    base_offset: int
    batches: Buffer


@dataclass(frozen=True, slots=True)
class Truncate:
    """Remove everything at and above ``end_offset``, durably, then report
    :class:`~barnabas.quorum.core.events.Truncated`."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Flush:
    """Sync the log up to ``end_offset``, possibly in the background, then report
    :class:`~barnabas.quorum.core.events.Flushed`."""

    end_offset: int
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request to another node, and report its response as
    :class:`~barnabas.quorum.core.events.Answered`."""

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
    """Respond to a fetch with records that the shell reads from the log."""

    token: int
    response: Any
    offset: int
    size_bytes_max: int


@dataclass(frozen=True, slots=True)
class ReplyWithSnapshot:
    """Respond with a piece of a snapshot. The shell checks the position against the size, and the
    snapshot may be gone when it is read."""

    token: int
    response: Any
    snapshot: OffsetAndEpoch
    position: int
    size_bytes_max: int


@dataclass(frozen=True, slots=True)
class WriteSnapshotPiece:
    """Write a piece of a snapshot that is being fetched. The first piece, at position 0, starts the
    file over."""

    snapshot: OffsetAndEpoch
    position: int
    data: Buffer


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """The last piece is written: check the snapshot, make it durable, begin the log behind it, and
    report :class:`~barnabas.quorum.core.events.SnapshotInstalled` or
    :class:`~barnabas.quorum.core.events.SnapshotRefused`."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class BecameLeader:
    """This node leads ``epoch``. Its log up to ``epoch_start_offset`` must be applied before the
    controller decides anything."""

    epoch: LeaderEpoch
    epoch_start_offset: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Everything below ``high_watermark`` is committed."""

    high_watermark: int


@dataclass(frozen=True, slots=True)
class Resigned:
    """This node no longer leads ``epoch``."""

    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class LeaderKnown:
    """The leader of ``epoch`` is known, or is unknown (-1)."""

    leader_id: NodeId
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class Complain:
    """A peer did something that a correct peer does not do. The shell logs it for an operator."""

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
