"""What can happen to a quorum node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Started:
    """The process is up, its log is open and recovered."""

    log_end_offset: int


@dataclass(frozen=True, slots=True)
class Append:
    """The active controller wants a batch in the log. Only a leader is asked."""

    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Flushed:
    """Everything below ``end_offset`` is on this node's disk."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The process is going to end in good order."""


Event = Started | Append | Flushed | Stop
