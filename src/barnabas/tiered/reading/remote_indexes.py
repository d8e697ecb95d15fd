"""The three indexes of one remote segment, in memory: read-only twins of ``offset_index``,
``time_index`` and ``transaction_index`` of local segments, with the same bytes.

They come from the network, and they decide where a reader begins and which records it skips. So
:func:`parse_indexes` refuses every index that cannot belong to the segment.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from barnabas.model.dataclass import dataclass
from barnabas.storage.transaction_index import AbortedTransaction
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED_ENTRY = struct.Struct(">hqqqq")
_ABORTED_VERSION = 0


@dataclass(frozen=True, slots=True)
class RemoteIndexes:
    """Immutable; safe on any thread."""

    base_offset: int
    offsets: array[int]
    """Relative, ascending, one for each of ``positions``."""
    positions: array[int]
    timestamps: array[int]
    """Ascending, one for each of ``timestamp_offsets``, which are relative."""
    timestamp_offsets: array[int]
    aborted_transactions: tuple[AbortedTransaction, ...]
    size_bytes: int
    """The size of the three files."""

    def position_for(self, offset: int) -> int:
        """Where to begin the search for ``offset``: a batch at or before the one that holds it."""
        slot = bisect_right(self.offsets, offset - self.base_offset) - 1
        return self.positions[slot] if slot >= 0 else 0

    def position_after(self, position: int) -> int | None:
        """The first indexed position above ``position``; None behind the last entry."""
        slot = bisect_right(self.positions, position)
        return self.positions[slot] if slot < len(self.positions) else None

    def offset_for_timestamp(self, timestamp: int) -> int:
        """An offset before which every record is older than ``timestamp``."""
        slot = bisect_right(self.timestamps, timestamp - 1) - 1
        return self.base_offset + (self.timestamp_offsets[slot] if slot >= 0 else 0)

    def aborted(self, start_offset: int, end_offset: int, last_offset_max: int) -> tuple[list[AbortedTransaction], bool]:
        """Aborted transactions with records in [start, end), and whether later segments cannot add
        any. Markers above ``last_offset_max`` do not count."""
        found = []
        for each in self.aborted_transactions:
            if each.last_offset > last_offset_max:
                break
            if each.last_offset >= start_offset and each.first_offset < end_offset:
                found.append(each)
            if each.last_stable_offset >= end_offset:
                return found, True
        return found, False


def parse_indexes(segment: RemoteSegmentMetadata, index: bytes, time_index: bytes, transaction_index: bytes) -> RemoteIndexes:
    """Raises ``ValueError`` that names the invalid index and the reason."""
    offsets, positions = _parse_offset_index(segment, index)
    timestamps, timestamp_offsets = _parse_time_index(segment, time_index)
    return RemoteIndexes(
        segment.start_offset,
        offsets,
        positions,
        timestamps,
        timestamp_offsets,
        _parse_transaction_index(segment, transaction_index),
        len(index) + len(time_index) + len(transaction_index),
    )


def _parse_offset_index(segment: RemoteSegmentMetadata, data: bytes) -> tuple[array[int], array[int]]:
    if len(data) % _OFFSET_ENTRY.size:
        raise ValueError(f"an offset index of {len(data)} bytes does not consist of whole entries")
    flat = array("i", data)
    if sys.byteorder == "little":
        flat.byteswap()
    offsets, positions = flat[::2], flat[1::2]
    if not _rises(offsets) or not _rises(positions):
        raise ValueError("the entries of the offset index do not rise")
    if offsets and (offsets[0] < 0 or segment.start_offset + offsets[-1] > segment.end_offset):
        raise ValueError(f"the offset index reaches from {offsets[0]} to {offsets[-1]} behind the segment's start")
    if positions and (positions[0] < 0 or positions[-1] >= segment.size_bytes):
        raise ValueError(f"the offset index points to {positions[-1]} in a log of {segment.size_bytes} bytes")
    return offsets, positions


def _parse_time_index(segment: RemoteSegmentMetadata, data: bytes) -> tuple[array[int], array[int]]:
    if len(data) % _TIME_ENTRY.size:
        raise ValueError(f"a time index of {len(data)} bytes does not consist of whole entries")
    timestamps = array("q", (timestamp for timestamp, _ in _TIME_ENTRY.iter_unpack(data)))
    offsets = array("i", (offset for _, offset in _TIME_ENTRY.iter_unpack(data)))
    # Equal entries may repeat: Kafka writes the last one again when it closes a segment.
    if any(one > following for each in (timestamps, offsets) for one, following in pairwise(each)):
        raise ValueError("the entries of the time index do not rise")
    if offsets and (offsets[0] < 0 or segment.start_offset + offsets[-1] > segment.end_offset):
        raise ValueError(f"the time index reaches from {offsets[0]} to {offsets[-1]} behind the segment's start")
    return timestamps, offsets


def _parse_transaction_index(segment: RemoteSegmentMetadata, data: bytes) -> tuple[AbortedTransaction, ...]:
    if len(data) % _ABORTED_ENTRY.size:
        raise ValueError(f"a transaction index of {len(data)} bytes does not consist of whole entries")
    found = []
    previous = -1
    for version, *values in _ABORTED_ENTRY.iter_unpack(data):
        aborted = AbortedTransaction(*values)
        in_order = previous < aborted.last_offset <= segment.end_offset and aborted.first_offset <= aborted.last_offset
        if version != _ABORTED_VERSION or not in_order:
            raise ValueError(f"the transaction index has version {version} and {aborted} after {previous}")
        previous = aborted.last_offset
        found.append(aborted)
    return tuple(found)


def _rises(values: Sequence[int]) -> bool:
    return all(one < following for one, following in pairwise(values))
