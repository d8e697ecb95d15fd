"""The latest offset of every key in the dirty part of a log, as far as the memory for it allows.

There are two maps with the same answers: ``compiled_key_map`` where the record scanner is compiled,
and ``dict_key_map`` where it is not. Only the number of keys differs that the same
``log.cleaner.dedupe.buffer.size`` holds: the compiled map takes 24 bytes a key, as Kafka's does,
and the dict about five times that. A log with more keys takes more passes.

Batches are added in the order of the log, until one has no room. The first one always has: a pass
must get further than the one before.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import BatchHeader


class Staying(NamedTuple):
    """The indexes of the records of a batch that stay, and whether a tombstone is among them."""

    kept: list[int]
    has_tombstone: bool


class KeyMap(Protocol):
    """Complete for ``[start_offset, end_offset)``: all batches in that range were added, or have no
    records that count. ``end_offset`` is set by the caller when it has added the last one.

    Bodies are not compressed. Both methods that take one raise ``MalformedRecord``.
    """

    start_offset: int
    end_offset: int

    @property
    def size_bytes(self) -> int: ...

    def __len__(self) -> int:
        """The number of keys."""

    def add(self, header: BatchHeader, body: Buffer) -> int | None:
        """Add the keys of all records from ``start_offset`` on, or none; returns the number of
        records without a key, or None when there is no room.
        """

    def survivors(self, base_offset: int, end_offset: int) -> list[int] | None:
        """The offsets in this range that are the latest of their keys, rising and relative to
        ``base_offset``; None when a tombstone is among them. Only for ranges within the map, to
        which no keys may be added afterwards.
        """

    def staying(self, header: BatchHeader, body: Buffer, *, without_tombstones: bool) -> Staying:
        """The records of a batch that no later record supersedes, without those that have no key.
        Records behind the end of the map all stay.
        """
