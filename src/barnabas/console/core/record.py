"""A record as the console shows it: its bytes, its place, and what its batch says about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TransactionState(Enum):
    NONE = "none"
    """The record is of no transaction."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNDECIDED = "undecided"
    """Behind the last stable offset: its transaction, or one before it, is open."""


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """What a batch says about its records."""

    base_offset: int
    records: int
    size_bytes: int
    compression: str
    leader_epoch: int
    is_append_time: bool
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None


@dataclass(frozen=True, slots=True)
class ReadRecord:
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    transaction: TransactionState
    control: str | None
    """The kind of a record that the cluster wrote, such as commit or abort."""
    batch: BatchFacts
