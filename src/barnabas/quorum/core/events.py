"""The events that a quorum node reacts to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.quorum.core.control_history import ControlChange
from barnabas.quorum.core.log_outline import LogOutline, OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Started:
    """The process is up, its log is open and recovered. Everything in the log is on the disk.

    ``changes`` are the control records in the latest snapshot and in the log behind it, about
    voters and kraft.version.
    """

    log: LogOutline = field(default_factory=LogOutline)
    changes: Sequence[ControlChange] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """The node's deadline has passed."""


@dataclass(frozen=True, slots=True)
class Append:
    """The active controller appends a batch. Only a leader gets this event."""

    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Flushed:
    """Everything below ``end_offset`` is on this node's disk. ``generation`` is the log's
    generation when the flush began."""

    end_offset: int
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Truncated:
    """The log ends here now; below the requested offset when a batch spanned it."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Requested:
    """A request arrived, in ``version`` of its API; the response goes to ``token``. None as its
    listener stands for the one on which this node reaches controllers."""

    token: int
    request: Any
    version: int
    listener_name: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of :class:`~barnabas.quorum.core.effects.Send`: a response, or the error code when
    there is none."""

    request_id: int
    response: Any | ErrorCode


@dataclass(frozen=True, slots=True)
class SnapshotInstalled:
    """The fetched snapshot is in place and the log begins behind it. ``changes`` are its control
    records."""

    snapshot: OffsetAndEpoch
    changes: Sequence[ControlChange]


@dataclass(frozen=True, slots=True)
class SnapshotRefused:
    """The fetched snapshot was damaged, and is removed."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class LogTrimmed:
    """This node wrote a snapshot, or removed old ones and the log in front of them."""

    start_offset: int
    snapshots: Sequence[OffsetAndEpoch]


@dataclass(frozen=True, slots=True)
class UpgradeKRaftVersion:
    """The voters move from the configuration into the log. Only a leader gets this event, after
    ``upgrade_problem`` found none."""

    version: int


@dataclass(frozen=True, slots=True)
class LeaderGone:
    """The machine of this epoch's leader says that no process listens there any more."""

    leader_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The active controller cannot continue, and another node should lead."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The process is going to stop cleanly."""


Event = (
    Started
    | Tick
    | Append
    | Flushed
    | Truncated
    | Requested
    | Answered
    | SnapshotInstalled
    | SnapshotRefused
    | LogTrimmed
    | UpgradeKRaftVersion
    | LeaderGone
    | Resign
    | Stop
)
