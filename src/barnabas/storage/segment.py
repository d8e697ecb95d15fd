"""One segment of a partition's log: the batches from its base offset up to the next segment, and
three indexes.

Invariants:

- ``size_bytes`` is the position of the next batch, and every byte before it belongs to a whole
  batch;
- ``next_offset`` is one above the last batch's last offset, or the base offset while the segment is
  empty;
- only the last segment of a log is active; a sealed one is never written again (compaction replaces
  it whole).

Offsets inside the indexes are relative and fit 31 bits, which bounds how many offsets one segment
may span.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from barnabas.env.disk import Disk, out_of_room
from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import HEADER_BYTES, LENGTH_OVERHEAD_BYTES, BatchHeader, read_header
from barnabas.records.batches import CorruptBatch, check_crc, check_shape
from barnabas.storage.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    PARTITION_METADATA,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
)
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.time_index import TimeIndex
from barnabas.storage.transaction_index import TransactionIndex

# Base offset, batch length and last offset delta: all that a search needs.
_STEP = struct.Struct(">qi11xi")
# One read covers the range between two index entries, with room for batches that are larger than
# the interval.
SEARCH_READ_BYTES = 16 * 1024
SCAN_READ_BYTES = 1024 * 1024
RELATIVE_OFFSET_MAX = 2**31 - 1


class Location(NamedTuple):
    """A batch in a segment."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int


class _GoesBack(CorruptBatch):
    """A batch has a lower offset or leader epoch than the one before it: one of the two is
    corrupt.
    """


_Scanned = tuple[int, BatchHeader, memoryview]


def _confirmed(batches: Iterator[_Scanned], expected: int) -> Iterator[_Scanned]:
    """A batch behind a gap, or of a later epoch, is yielded once the next one does not contradict
    it. No checksum covers a batch's offset and epoch, so corruption there shows only this way.
    Compaction leaves gaps too, but later batches continue from there.
    """
    held: _Scanned | None = None
    epoch = -1
    try:
        for each in batches:
            header = each[1]
            if 0 <= header.leader_epoch < epoch:
                raise _GoesBack(f"epoch {header.leader_epoch} of the batch at offset {header.base_offset} follows epoch {epoch}")
            if held is not None:
                yield held
            held = each if header.base_offset > expected or header.leader_epoch > epoch else None
            if held is None:
                yield each
            expected, epoch = header.last_offset + 1, max(epoch, header.leader_epoch)
    except _GoesBack:
        raise
    except CorruptBatch:
        if held is not None:
            yield held
        raise
    if held is not None:
        yield held


class Segment:
    __slots__ = (
        "base_offset",
        "bytes_since_entry",
        "created_ms",
        "damage",
        "directory",
        "discarded",
        "disk",
        "file",
        "first_timestamp",
        "index",
        "index_interval_bytes",
        "max_timestamp",
        "nameless",
        "next_offset",
        "offset_of_max_timestamp",
        "size_bytes",
        "time_index",
        "transaction_index",
    )

    def __init__(self, disk: Disk, directory: str, base_offset: int, *, index_interval_bytes: int, created_ms: int) -> None:
        """Opens the existing files and creates the log file if it is missing; reads nothing yet."""
        self.disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = created_ms
        stem = f"{directory}/{offset_name(base_offset)}"
        self.file = disk.open(stem + LOG_SUFFIX)
        self.index = OffsetIndex(disk, stem + INDEX_SUFFIX, base_offset)
        self.time_index = TimeIndex(disk, stem + TIME_INDEX_SUFFIX, base_offset)
        self.transaction_index = TransactionIndex(disk, stem + TRANSACTION_INDEX_SUFFIX)
        self.size_bytes = self.file.size_bytes()
        self.next_offset = base_offset
        # The largest timestamp so far and the last offset of its batch; -1 while empty.
        self.max_timestamp = -1
        self.offset_of_max_timestamp = base_offset
        # Of the first batch. The age of the segment is counted from it, because it is the same
        # after a restart.
        self.first_timestamp = -1
        self.bytes_since_entry = 0
        self.index_interval_bytes = index_interval_bytes
        self.damage: str | None = None  # why the last rebuild truncated the file
        self.nameless = False  # new, and its directory not synced since
        self.discarded = False

    @classmethod
    def create(cls, disk: Disk, directory: str, base_offset: int, *, index_interval_bytes: int, created_ms: int) -> Segment:
        """A new, empty, active segment."""
        try:
            segment = cls(disk, directory, base_offset, index_interval_bytes=index_interval_bytes, created_ms=created_ms)
            assert segment.size_bytes == 0, f"{segment.file.path} already holds {segment.size_bytes} bytes"
            segment.index.reset()
            segment.time_index.reset()
        except OSError:
            # A leftover file of this name would cut the previous segment in two, once that has
            # grown.
            for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX):
                disk.remove(f"{directory}/{offset_name(base_offset)}{suffix}")
            raise
        segment.nameless = True
        return segment

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> int:
        """Write one batch, its offsets already assigned; returns its position."""
        position = self.size_bytes
        self.append_batches(((batch, last_offset, max_timestamp),))
        return position

    def append_batches(self, batches: Sequence[tuple[Buffer, int, int]]) -> None:
        """Write batches, each with its last offset and its largest timestamp, in one call.
        ``OSError`` leaves the segment as it was.
        """
        position = self.size_bytes
        if len(batches) == 1:
            batch, last_offset, max_timestamp = batches[0]
            self._write(position, batch)
            self._grew(position, len(batch), last_offset, max_timestamp)
            return
        self._write(position, b"".join([each[0] for each in batches]))
        for batch, last_offset, max_timestamp in batches:
            size = len(batch)
            self._grew(position, size, last_offset, max_timestamp)
            position += size

    def _write(self, position: int, data: Buffer) -> None:
        try:
            self.file.write_at(position, data)
        except OSError as error:
            if out_of_room(error):
                # The disk may have written the beginning; the file must end with a whole batch
                # again.
                self.file.truncate(position)
            raise

    def _grew(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        assert last_offset >= self.next_offset, f"offset {last_offset} below {self.next_offset} in {self.file.path}"
        self.size_bytes = position + size
        self.next_offset = last_offset + 1
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if position == 0:
            self.first_timestamp = max_timestamp
            self.index.hold_place(last_offset)
        if self.bytes_since_entry > self.index_interval_bytes:
            self.index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
            self.bytes_since_entry = 0
        self.bytes_since_entry += size

    def locate(self, offset: int) -> Location | None:
        """The batch that holds ``offset``, or the next one behind a gap; None when the segment ends
        before.
        """
        if offset >= self.next_offset:
            return None
        _, start = self.index.lookup(offset)
        # As a loop over steps(), at a third of the price: a fetch passes a dozen batches here, and
        # makes no object for them.
        unpack, size_bytes = _STEP.unpack_from, self.size_bytes
        while start + HEADER_BYTES <= size_bytes:
            chunk = self.file.read_at(start, min(SEARCH_READ_BYTES, size_bytes - start))
            if len(chunk) < HEADER_BYTES:
                return None
            at, at_max = 0, min(len(chunk) - _STEP.size, size_bytes - start - HEADER_BYTES)
            while at <= at_max:
                base_offset, length, last_delta = unpack(chunk, at)
                if length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES or last_delta < 0:
                    raise self._no_batch_at(start + at)
                if base_offset + last_delta >= offset:
                    return Location(start + at, length + LENGTH_OVERHEAD_BYTES, base_offset, base_offset + last_delta)
                at += length + LENGTH_OVERHEAD_BYTES
            start += at
        return None

    def steps(self, position: int) -> Iterator[Location]:
        """Batches from ``position`` on, reading only the bytes that are needed to step."""
        chunk, start = b"", position
        while position + HEADER_BYTES <= self.size_bytes:
            at = position - start
            if at + _STEP.size > len(chunk):
                size = min(SEARCH_READ_BYTES, self.size_bytes - position)
                chunk, start, at = self.file.read_at(position, size), position, 0
                if len(chunk) < HEADER_BYTES:
                    return
            base_offset, length, last_delta = _STEP.unpack_from(chunk, at)
            if length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES or last_delta < 0:
                raise self._no_batch_at(position)
            size_bytes = length + LENGTH_OVERHEAD_BYTES
            yield Location(position, size_bytes, base_offset, base_offset + last_delta)
            position += size_bytes

    def _no_batch_at(self, position: int) -> CorruptBatch:
        return CorruptBatch(f"{self.file.path} has no batch at position {position}")

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Positions and headers of all whole batches from ``position`` on, without reading
        bodies.
        """
        while position + HEADER_BYTES <= self.size_bytes:
            data = self.file.read_at(position, SEARCH_READ_BYTES)
            start = 0
            while start + HEADER_BYTES <= len(data):
                header = read_header(data, start)
                check_shape(header, position + start)
                if position + start + header.size_bytes > self.size_bytes:
                    return
                yield position + start, header
                start += header.size_bytes
            if start == 0:
                return
            position += start

    def scan(self, position: int = 0) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Every whole batch from ``position`` on with its bytes, checksums verified.

        Raises ``CorruptBatch`` at the first that is incomplete, damaged or goes back in offsets:
        everything before it is intact.
        """
        expected = self.base_offset
        wanted = SCAN_READ_BYTES
        while position < self.size_bytes:
            data = memoryview(self.file.read_at(position, min(wanted, self.size_bytes - position)))
            wanted = SCAN_READ_BYTES
            start = 0
            while len(data) - start >= HEADER_BYTES:
                header = read_header(data, start)
                check_shape(header, position + start)
                if header.base_offset < expected:
                    raise _GoesBack(
                        f"offset {header.base_offset} at position {position + start} of {self.file.path} follows {expected - 1}"
                    )
                stop = start + header.size_bytes
                if stop > len(data):
                    if position + stop > self.size_bytes:
                        raise CorruptBatch(f"{self.file.path} ends inside the batch at position {position + start}")
                    wanted = max(SCAN_READ_BYTES, header.size_bytes)
                    break
                batch = data[start:stop]
                check_crc(batch, header)
                yield position + start, header, batch
                expected = header.last_offset + 1
                start = stop
            if len(data) < HEADER_BYTES:
                raise CorruptBatch(f"{self.file.path} ends inside the batch at position {position}")
            position += start

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that reaches ``offset`` or lies above it; the segment becomes
        active.
        """
        location = self.locate(offset)
        self.index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        if location is not None:
            self._cut(location.position)
        self.load_tail()
        self.hold_place_in_index()

    def hold_place_in_index(self) -> None:
        """An active segment with batches has an index of at least one entry on disk, for the sanity
        check of Kafka's tools (:mod:`~barnabas.storage.index_file`).
        """
        if len(self.index):
            return
        for _, header in self.headers():
            self.index.hold_place(header.last_offset)
            return
        self.index.file.remove_placeholder()

    def _cut(self, size_bytes: int) -> None:
        self.file.truncate(size_bytes)
        # Durable before any append: otherwise a power cut could keep the new batches and bring back
        # the old ones behind them.
        self.file.sync()
        self.size_bytes = size_bytes

    def load_tail(self) -> None:
        """Load end, largest timestamp and first timestamp from the files: indexes first, then the
        batches behind their last entry.
        """
        self.max_timestamp, self.offset_of_max_timestamp = self.time_index.last()
        _, position = self.index.last()
        self.next_offset = self.base_offset
        last_entry = position
        for _, header in self.headers(position):
            self.next_offset = header.last_offset + 1
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.offset_of_max_timestamp = header.max_timestamp, header.last_offset
        self.bytes_since_entry = self.size_bytes - last_entry
        self.first_timestamp = -1
        for _, header in self.headers():
            self.first_timestamp = header.max_timestamp
            break

    def rebuild(self, before_cut: Callable[[], None] | None = None) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Derive the indexes from the batches, which are yielded, and truncate the file at the
        first incomplete one.

        The generator must run to its end. The transaction index is cleared; a caller that tracks
        producers fills it. ``before_cut`` is called while the damage is still visible, for work
        that must be complete even if a crash interrupts the rest.
        """
        self.index.reset()
        self.time_index.reset()
        self.transaction_index.reset()
        self.max_timestamp, self.offset_of_max_timestamp, self.first_timestamp = -1, self.base_offset, -1
        self.next_offset = self.base_offset
        self.damage = None
        valid, last_entry = 0, 0
        try:
            for position, header, batch in _confirmed(self.scan(), self.base_offset):
                if header.last_offset - self.base_offset > RELATIVE_OFFSET_MAX:
                    raise CorruptBatch(f"offset {header.last_offset} is too far from base offset {self.base_offset}")
                if header.max_timestamp > self.max_timestamp:
                    self.max_timestamp, self.offset_of_max_timestamp = header.max_timestamp, header.last_offset
                if position == 0:
                    self.first_timestamp = header.max_timestamp
                if position - last_entry > self.index_interval_bytes:
                    self.index.append(header.last_offset, position)
                    self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
                    last_entry = position
                valid = position + header.size_bytes
                self.next_offset = header.last_offset + 1
                yield header, batch
        except CorruptBatch as damage:
            # The torn tail of a crash. Everything in front of it is whole, and nothing behind it
            # can be trusted.
            self.damage = str(damage)
        if valid < self.size_bytes:
            if before_cut is not None:
                before_cut()
            self._cut(valid)
        self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
        self.bytes_since_entry = self.size_bytes - last_entry
        self._write_out_or_withdraw()

    def activate(self) -> None:
        self.index.activate()
        self.time_index.activate()

    def seal(self) -> None:
        """End appends: the largest timestamp becomes the last entry of the time index."""
        self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
        self.write_out()
        self.index.seal()
        self.time_index.seal()

    def seal_recovered(self) -> None:
        """Like :meth:`seal`, on a disk that may be full: a log must open there too."""
        self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
        self._write_out_or_withdraw()
        self.index.seal()
        self.time_index.seal()

    def _write_out_or_withdraw(self) -> None:
        try:
            self.write_out()
        except OSError as error:
            if not out_of_room(error):
                raise
            self.index.file.withdraw()
            self.time_index.file.withdraw()
            self.disk.sync_directory(self.directory)

    def write_out(self) -> None:
        """Write everything that waits in memory to the files, so that :meth:`sync` may run on
        another thread.
        """
        self.index.file.write_out()
        self.time_index.file.write_out()
        self.transaction_index.file.write_out()

    def sync(self) -> None:
        """Wait until the written data is durable, including the names of a new segment's files.

        A segment that the loop's thread dropped meanwhile has nothing that could be lost.
        """
        try:
            self._sync()
        except OSError:
            if not self.discarded:
                raise

    def _sync(self) -> None:
        if self.nameless:
            self._sync_owner()
            self.disk.sync_directory(self.directory)
            self.disk.sync_directory(self.directory.rpartition("/")[0])
            self.nameless = False
        self.file.sync()
        self.index.file.sync()
        self.time_index.file.sync()
        if self.transaction_index.on_disk:
            self.transaction_index.file.sync()
            if self.transaction_index.nameless:
                self.disk.sync_directory(self.directory)
                self.transaction_index.nameless = False

    def _sync_owner(self) -> None:
        """Sync the topic id together with the first durable records: under a wrong topic id the
        partition would be put aside.
        """
        path = f"{self.directory}/{PARTITION_METADATA}"
        if self.disk.exists(path):
            file = self.disk.open(path)
            try:
                file.sync()
            finally:
                file.close()

    def close(self) -> None:
        self.file.close()
        self.index.file.close()
        self.time_index.file.close()
        self.transaction_index.file.close()

    def moved_to(self, directory: str) -> None:
        """Its directory was renamed. Code that still reads a renamed log finds its files until they
        are removed.
        """
        self.directory = directory
        stem = f"{directory}/{offset_name(self.base_offset)}"
        self.file.moved_to(stem + LOG_SUFFIX)
        self.index.file.moved_to(stem + INDEX_SUFFIX)
        self.time_index.file.moved_to(stem + TIME_INDEX_SUFFIX)
        self.transaction_index.file.moved_to(stem + TRANSACTION_INDEX_SUFFIX)

    def abandon(self) -> None:
        for file in (self.index.file, self.time_index.file, self.transaction_index.file):
            file.abandon()
        self.file.close()

    def batches_at_or_after(self, timestamp: int, start_offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """Positions and headers of the batches at or above ``start_offset`` whose largest timestamp
        reaches ``timestamp``.
        """
        if self.max_timestamp < timestamp:
            return
        location = self.locate(max(start_offset, self.time_index.lookup(timestamp)))
        if location is None:
            return
        for position, header in self.headers(location.position):
            if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
                yield position, header

    def read_batch(self, position: int, header: BatchHeader) -> bytes:
        return self.file.read_at(position, header.size_bytes)
