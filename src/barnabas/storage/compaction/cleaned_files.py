"""Writing a cleaned segment: ``.log.cleaned`` and its indexes, which no reader opens before they
are swapped in.

As long as the cleaning of one segment has found nothing to remove, the new file would be a copy of
the beginning of the old one. So it is not written before the first difference; most segments of a
log that was cleaned before have none.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.env.disk import Disk
from barnabas.storage.compaction.batch_rewrite import Batch
from barnabas.storage.file_names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
)
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.time_index import TimeIndex
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex

WRITE_BYTES = 1024 * 1024


def remove_cleaned(disk: Disk, directory: str, base_offset: int) -> None:
    """The removal need not be durable: the next open of the log removes them again."""
    for suffix in SEGMENT_SUFFIXES:
        disk.remove(f"{directory}/{offset_name(base_offset)}{suffix}{CLEANED_SUFFIX}")


class CleanedFiles:
    def __init__(self, disk: Disk, directory: str, base_offset: int, *, index_interval_bytes: int, throttle: Callable[[int], None]) -> None:
        remove_cleaned(disk, directory, base_offset)
        self._disk = disk
        self._directory = directory
        self._throttle = throttle
        self.base_offset = base_offset
        self.size_bytes = 0
        self.next_offset = base_offset
        self._stem = f"{directory}/{offset_name(base_offset)}"
        self._file = disk.open(self._stem + LOG_SUFFIX + CLEANED_SUFFIX)
        self._index = OffsetIndex(disk, self._stem + INDEX_SUFFIX + CLEANED_SUFFIX, base_offset)
        self._time_index = TimeIndex(disk, self._stem + TIME_INDEX_SUFFIX + CLEANED_SUFFIX, base_offset)
        self._transaction_index = TransactionIndex(disk, self._stem + TRANSACTION_INDEX_SUFFIX + CLEANED_SUFFIX)
        self._index.reset()
        self._time_index.reset()
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_entry = 0
        self._max_timestamp = -1
        self._offset_of_max_timestamp = base_offset
        # Copied, because only one small batch of a large chunk may be kept.
        self._waiting = bytearray()
        # The segment with which the new one is still identical.
        self._same_as: str | None = None

    def begin_as_copy_of(self, base_offset: int) -> None:
        """Nothing is written until :meth:`differ`: appended batches are also in that segment, at
        the same positions.
        """
        assert not self.size_bytes
        self._same_as = f"{self._directory}/{offset_name(base_offset)}{LOG_SUFFIX}"

    def differ(self) -> None:
        """Start writing a file that differs from the source."""
        if self._same_as is None:
            return
        source, self._same_as = self._same_as, None
        for position in range(0, self.size_bytes, WRITE_BYTES):
            part = self._disk.read_range(source, position, min(WRITE_BYTES, self.size_bytes - position))
            self._throttle(2 * len(part))
            self._file.write_at(position, part)

    @property
    def differs(self) -> bool:
        return self._same_as is None

    def append(self, batch: Batch) -> None:
        header, data = batch
        position, last_offset = self.size_bytes, header.last_offset
        assert last_offset >= self.next_offset, f"offset {last_offset} below {self.next_offset} in {self._stem}"
        if self._same_as is None:
            self._waiting += data
            if len(self._waiting) >= WRITE_BYTES:
                self._write(position + len(data))
        self.size_bytes = position + len(data)
        self.next_offset = last_offset + 1
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp, self._offset_of_max_timestamp = header.max_timestamp, last_offset
        if self._bytes_since_entry > self._index_interval_bytes:
            self._index.append(last_offset, position)
            self._time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
            self._bytes_since_entry = 0
        self._bytes_since_entry += len(data)

    def append_aborted(self, aborted: AbortedTransaction) -> None:
        self._transaction_index.append(aborted)

    def _write(self, end_position: int) -> None:
        if self._waiting:
            self._throttle(len(self._waiting))
            self._file.write_at(end_position - len(self._waiting), self._waiting)
            self._waiting.clear()

    def finish(self) -> None:
        """Make everything durable, names included: once the log is renamed, it is the segment even
        after a crash.
        """
        self._write(self.size_bytes)
        self._time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
        self._file.sync()
        indexes = [self._index.file, self._time_index.file]
        if self._transaction_index.on_disk:
            indexes.append(self._transaction_index.file)
        for index in indexes:
            index.write_out()
            index.sync()
        self._disk.sync_directory(self._directory)
        self._abandon()

    def discard(self) -> None:
        self._abandon()
        remove_cleaned(self._disk, self._directory, self.base_offset)

    def _abandon(self) -> None:
        self._file.close()
        for index in (self._index.file, self._time_index.file, self._transaction_index.file):
            index.abandon()
