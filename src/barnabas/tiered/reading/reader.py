"""Reading from remote segments: batches from an offset on, the aborted transactions among them, and
offsets by time.

Runs on worker threads; any number of reads may run at once and share fetched pieces. Everything
from the store is checked before a reader gets it: every batch has the shape of a batch, offsets
that rise within the segment's range, and the checksum with which it was written.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Final

from crc32c import crc32c

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid
from barnabas.records.batch_header import CHECKSUMMED_POSITION, HEADER_BYTES, LENGTH_OVERHEAD_BYTES, MAGIC, read_header
from barnabas.storage.finding_by_time import TimestampOffset, first_in_batch
from barnabas.storage.transaction_index import AbortedTransaction
from barnabas.tiered.metadata.chain import RemoteChain
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.reading.index_cache import RemoteIndexCache
from barnabas.tiered.reading.read_ahead import ReadAhead
from barnabas.tiered.store.object_names import ObjectNames
from barnabas.tiered.store.store import RemoteDataDamaged, RemoteStore

# The next offset of a reader is nearly always the end of an earlier read, so the positions of those
# ends are remembered and need no search.
REMEMBERED_ENDS: Final = 1024
# The limit of one read, whatever size was requested: the reader asks again for more, and memory
# stays bounded.
READ_BYTES_MAX: Final = 8 * 1024 * 1024
# How much of a log a search by time looks at in one go.
SEARCH_BYTES: Final = 256 * 1024
# Base offset, length, leader epoch, magic, checksum, attributes, last offset delta.
_STEP: Final = struct.Struct(">qiibIhi")


class OffsetNotRemote(Exception):
    """No link of the chain holds the offset: it has expired, or was never copied.
    OFFSET_OUT_OF_RANGE for a client."""


@dataclass(frozen=True, slots=True)
class RemoteRead:
    records: bytes | memoryview = b""
    """Whole batches, checked; the first one holds the requested offset, or is the next one behind a
    gap. A view of the piece that came from the store, wherever one piece holds them all."""
    next_offset: int = -1
    """One above the last batch's last offset. Without records it is the offset to continue from,
    which lies above the requested one when only a gap was left."""
    aborted: tuple[AbortedTransaction, ...] = ()
    """Those with records in this read that remote segments know; only on request."""
    aborted_complete: bool = True
    """False when segments behind the chain may add more: if the local log still begins at the
    chain's end, ask ``Log.aborted_transactions(first_offset, next_offset)`` too, and drop
    repetitions."""
    oversized: bool = False
    """The first batch exceeds the requested size: it is the only one here, or is left out unless
    ``at_least_one`` was set."""
    first_offset: int = -1
    """The first batch's base offset."""


class RemoteReader:
    def __init__(self, store: RemoteStore, names: ObjectNames, indexes: RemoteIndexCache, read_ahead: ReadAhead | None = None) -> None:
        self._indexes = indexes
        self._read_ahead = read_ahead if read_ahead is not None else ReadAhead(store, names)
        self._lock = Lock()
        self._ends: OrderedDict[tuple[Uuid, int], int] = OrderedDict()

    def read(self, chain: RemoteChain, offset: int, *, size_bytes_max: int, at_least_one: bool = True, aborted: bool = False) -> RemoteRead:
        """Batches of one segment, at most :data:`READ_BYTES_MAX` unless a single batch is larger.

        Raises ``OffsetNotRemote`` or ``RemoteStoreError``.
        """
        if chain.holding(offset) is None:
            raise OffsetNotRemote(f"offset {offset} is in no remote segment")
        wanted = offset
        for slot in range(chain.slot(offset), len(chain.links)):
            link = chain.links[slot]
            if link.start_offset > wanted:
                break
            with self._forgetting_damage(link.segment):
                found = self._read_link(chain, slot, wanted, min(size_bytes_max, READ_BYTES_MAX), at_least_one=at_least_one)
            if found is not None:
                return self._with_aborted(chain, slot, found) if aborted and found.records else found
            # Compaction may have emptied the end of a segment; the next records are in the next
            # one.
            wanted = link.end_offset + 1
        return RemoteRead(next_offset=wanted)

    def offset_for_timestamp(self, chain: RemoteChain, timestamp: int, start_offset: int) -> TimestampOffset | None:
        """The first record at or above ``start_offset`` that is not older than ``timestamp``; None
        when there is no remote one."""
        for slot in range(chain.slot(start_offset), len(chain.links)):
            link = chain.links[slot]
            if link.segment.max_timestamp < timestamp:
                continue
            with self._forgetting_damage(link.segment):
                found = self._first_at(chain, slot, timestamp, max(start_offset, link.start_offset))
            if found is not None:
                return found
        return None

    def close(self) -> None:
        self._read_ahead.close()

    @contextmanager
    def _forgetting_damage(self, segment: RemoteSegmentMetadata) -> Iterator[None]:
        """The damage may be only here: on the way, in memory, in the cached index. Forget the copy,
        so that the next reader gets it from the store."""
        try:
            yield
        except RemoteDataDamaged:
            self._indexes.remove([segment.id.uuid])
            self._read_ahead.forget(segment.id.uuid)
            raise

    # -- batches -----------------------------------------------------------------------------------

    def _read_link(self, chain: RemoteChain, slot: int, offset: int, size_bytes_max: int, *, at_least_one: bool) -> RemoteRead | None:
        """None when the link has no batch at or above ``offset``."""
        link = chain.links[slot]
        segment = link.segment
        expected = segment.start_offset
        position, indexed = self._position_of(segment, offset)
        window_bytes = max(size_bytes_max, SEARCH_BYTES)
        while position < segment.size_bytes:
            window = self._window(chain, slot, position, window_bytes)
            at, first_at, first_offset, oversized = 0, -1, -1, False
            while len(window) - at >= HEADER_BYTES:
                base_offset, size_bytes, last_offset, crc = _step(window, at, position, expected, segment)
                if indexed:
                    _check_indexed(base_offset, offset, segment)
                    indexed = False
                if last_offset < offset:
                    at, expected = at + size_bytes, last_offset + 1
                    continue
                if base_offset > link.end_offset:
                    # From here on the segment belongs to a history that is not this log's.
                    return _made(window, first_at, at, first_offset, expected, oversized) if first_at >= 0 else None
                if first_at < 0:
                    oversized = size_bytes > size_bytes_max
                    if oversized and not at_least_one:
                        return RemoteRead(next_offset=offset, oversized=True)
                    if at + size_bytes > len(window):
                        if size_bytes > window_bytes:
                            self._check_length(segment, position + at, size_bytes)
                            window_bytes = size_bytes
                        break
                    first_at, first_offset = at, base_offset
                elif at + size_bytes > len(window) or at + size_bytes - first_at > size_bytes_max:
                    break
                _check_crc(window, at, size_bytes, crc, base_offset, segment)
                at, expected = at + size_bytes, last_offset + 1
            if first_at >= 0:
                self._remember_end(segment, expected, position + at)
                return _made(window, first_at, at, first_offset, expected, oversized)
            if at == 0 and position + len(window) >= segment.size_bytes:
                raise RemoteDataDamaged(f"remote segment {segment.id} ends inside the batch at position {position}")
            position += at
        return None

    def _batches(self, chain: RemoteChain, slot: int, position: int) -> Iterator[memoryview]:
        """The batches of a link from ``position`` on, checked."""
        link = chain.links[slot]
        segment, expected, window_bytes = link.segment, link.segment.start_offset, SEARCH_BYTES
        while position < segment.size_bytes:
            window = self._window(chain, slot, position, window_bytes)
            at = 0
            while len(window) - at >= HEADER_BYTES:
                base_offset, size_bytes, last_offset, crc = _step(window, at, position, expected, segment)
                if base_offset > link.end_offset:
                    return
                if at + size_bytes > len(window):
                    if size_bytes > window_bytes:
                        self._check_length(segment, position + at, size_bytes)
                    window_bytes = max(SEARCH_BYTES, size_bytes)
                    break
                _check_crc(window, at, size_bytes, crc, base_offset, segment)
                yield window[at : at + size_bytes]
                at, expected = at + size_bytes, last_offset + 1
            if at == 0 and position + len(window) >= segment.size_bytes:
                raise RemoteDataDamaged(f"remote segment {segment.id} ends inside the batch at position {position}")
            position += at

    def _window(self, chain: RemoteChain, slot: int, position: int, size_bytes: int) -> memoryview:
        segment = chain.links[slot].segment
        following = chain.links[slot + 1].segment if slot + 1 < len(chain.links) else None
        piece_bytes = self._read_ahead.piece_bytes
        stop = min(position + size_bytes, segment.size_bytes)
        first, last = position // piece_bytes, (stop - 1) // piece_bytes
        if first == last:
            piece = memoryview(self._read_ahead.piece(segment, first, following))
            return piece[position - first * piece_bytes : stop - first * piece_bytes]
        # Each piece is copied as it comes, so that a large window is not in memory twice.
        window, filled = memoryview(bytearray(stop - position)), 0
        for number in range(first, last + 1):
            start = number * piece_bytes
            part = memoryview(self._read_ahead.piece(segment, number, following))[max(position - start, 0) : min(stop - start, piece_bytes)]
            window[filled : filled + len(part)] = part
            filled += len(part)
        return window.toreadonly()

    def _check_length(self, segment: RemoteSegmentMetadata, position: int, size_bytes: int) -> None:
        """Refuse a corrupt length before it brings the rest of the segment into memory, because the
        checksum needs the whole batch. Index entries lead to beginnings of batches, so a batch ends
        at the next entry at the latest. Behind the last entry a segment holds little more than
        ``index.interval.bytes`` and a batch."""
        end = self._indexes.get(segment).position_after(position)
        if end is not None and position + size_bytes > end:
            raise RemoteDataDamaged(
                f"the batch at position {position} of remote segment {segment.id} would have {size_bytes} bytes, "
                f"but the index has another batch at position {end}"
            )

    def _position_of(self, segment: RemoteSegmentMetadata, offset: int) -> tuple[int, bool]:
        """The position where the search begins, and whether it comes from the index."""
        if offset <= segment.start_offset:
            return 0, False
        with self._lock:
            remembered = self._ends.get((segment.id.uuid, offset))
        if remembered is not None:
            return remembered, False
        position = self._indexes.get(segment).position_for(offset)
        return position, position > 0

    def _remember_end(self, segment: RemoteSegmentMetadata, next_offset: int, position: int) -> None:
        with self._lock:
            self._ends[(segment.id.uuid, next_offset)] = position
            if len(self._ends) > REMEMBERED_ENDS:
                self._ends.popitem(last=False)

    def _first_at(self, chain: RemoteChain, slot: int, timestamp: int, start_offset: int) -> TimestampOffset | None:
        segment = chain.links[slot].segment
        indexes = self._indexes.get(segment)
        offset = max(start_offset, indexes.offset_for_timestamp(timestamp))
        position = indexes.position_for(offset)
        for number, batch in enumerate(self._batches(chain, slot, position)):
            header = read_header(batch)
            if number == 0 and position > 0:
                _check_indexed(header.base_offset, offset, segment)
            if header.last_offset < start_offset or header.max_timestamp < timestamp:
                continue
            found = first_in_batch(batch, header, timestamp, start_offset)
            if found is not None:
                return found
        return None

    # -- transactions ------------------------------------------------------------------------------

    def _with_aborted(self, chain: RemoteChain, slot: int, read: RemoteRead) -> RemoteRead:
        """An abort is indexed where its marker lies, which may be segments later than its
        records."""
        found: dict[AbortedTransaction, None] = {}
        complete = False
        for index in range(slot, len(chain.links)):
            link = chain.links[index]
            if link.segment.txn_index_empty:
                continue
            # A marker behind the link's end was written in a history that is not this log's, or is
            # in the next segment too.
            some, complete = self._indexes.get(link.segment).aborted(read.first_offset, read.next_offset, link.end_offset)
            found.update(dict.fromkeys(some))
            if complete:
                break
        return replace(read, aborted=tuple(found), aborted_complete=complete)


def _step(window: memoryview, at: int, position: int, expected: int, segment: RemoteSegmentMetadata) -> tuple[int, int, int, int]:
    """Base offset, size, last offset and checksum of the batch that begins at ``at``; its body need
    not be in the window."""
    base_offset, length, _, magic, crc, _, last_offset_delta = _STEP.unpack_from(window, at)
    size_bytes, last_offset = length + LENGTH_OVERHEAD_BYTES, base_offset + last_offset_delta
    if (
        magic != MAGIC
        or size_bytes < HEADER_BYTES
        or position + at + size_bytes > segment.size_bytes
        or last_offset_delta < 0
        or base_offset < expected
        or last_offset > segment.end_offset
    ):
        raise RemoteDataDamaged(
            f"remote segment {segment.id} has an invalid batch at position {position + at}: magic {magic}, {size_bytes} bytes, "
            f"offsets {base_offset} to {last_offset} where {expected} to {segment.end_offset} may be"
        )
    return base_offset, size_bytes, last_offset, crc


def _check_indexed(base_offset: int, offset: int, segment: RemoteSegmentMetadata) -> None:
    """An index must lead to a batch at or before the requested one. No checksum covers the index,
    and a corrupt one would make readers skip records."""
    if base_offset > offset:
        raise RemoteDataDamaged(f"the index of remote segment {segment.id} leads to offset {base_offset}, behind {offset}")


def _check_crc(window: memoryview, at: int, size_bytes: int, crc: int, base_offset: int, segment: RemoteSegmentMetadata) -> None:
    computed = crc32c(window[at + CHECKSUMMED_POSITION : at + size_bytes])
    if computed != crc:
        raise RemoteDataDamaged(
            f"the batch at offset {base_offset} of remote segment {segment.id} has crc {crc:08x}, but its bytes give {computed:08x}"
        )


def _made(window: memoryview, start: int, stop: int, first_offset: int, next_offset: int, oversized: bool) -> RemoteRead:
    return RemoteRead(window[start:stop], next_offset, first_offset=first_offset, oversized=oversized)
