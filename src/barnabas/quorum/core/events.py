"""What can happen to a quorum node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.quorum.core.control_history import ControlChange
from barnabas.quorum.core.log_outline import LogOutline, OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Started:
    """The process is up, its log is open and recovered. All that is in the log is on the disk.

    ``changes`` are what the latest snapshot and the log behind it say about voters and kraft.version.
    """

    log: LogOutline = field(default_factory=LogOutline)
    changes: Sequence[ControlChange] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: the node's deadline has come."""


@dataclass(frozen=True, slots=True)
class Append:
    """The active controller wants a batch in the log. Only a leader is asked."""

    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Flushed:
    """Everything below ``end_offset`` is on this node's disk; ``generation`` is that of the log when the flush began."""

    end_offset: int
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Truncated:
    """The log ends here now: below what was asked when a batch spanned it."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Requested:
    """Somebody asks, in ``version`` of the request's API; the answer goes to ``token``."""

    token: int
    request: Any
    version: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back for :class:`~barnabas.quorum.core.effects.Send`: a response, or why there is none."""

    request_id: int
    response: Any | ErrorCode


@dataclass(frozen=True, slots=True)
class SnapshotInstalled:
    """The snapshot that was fetched is in place and the log begins behind it; ``changes`` are the control records in it."""

    snapshot: OffsetAndEpoch
    changes: Sequence[ControlChange]


@dataclass(frozen=True, slots=True)
class SnapshotRefused:
    """The snapshot that was fetched is damaged, and gone."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class LogTrimmed:
    """A snapshot was written here, or old ones and log in front of them removed."""

    start_offset: int
    snapshots: Sequence[OffsetAndEpoch]


@dataclass(frozen=True, slots=True)
class UpgradeKRaftVersion:
    """The voters move from the configuration into the log. Only a leader is asked, that has no reason against it."""

    version: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The active controller cannot go on; another should."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The process is going to end in good order."""


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
    | Resign
    | Stop
)
