"""A file of fixed-width entries that only grows or is truncated at its end: the form of all three
indexes on disk.

New entries wait in memory and are written a page at a time, so the append path makes no system call
for an index. A crash loses the waiting entries, which is harmless: an index is derived from its
log, and after a crash it is derived again.

A closed index is as long as its entries. Kafka preallocates the index of an active segment with
megabytes of zeros, and ``kafka-dump-log --index-sanity-check`` calls an index of no bytes "empty"
instead of sane. So the offset index of an active segment has a *placeholder* while no entry is
written (:meth:`IndexFile.hold_place`). The first entries overwrite it, and a seal or close cuts it
off. A placeholder that a crash leaves behind is harmless, because the index is derived again.
"""

from __future__ import annotations

import struct
from typing import Any

from barnabas.env.disk import Disk, DiskFile, out_of_room

WAITING_BYTES_MAX = 4096


class IndexFile:
    __slots__ = ("_disk", "_entry", "_file", "_has_placeholder", "_ragged", "_waiting", "_written", "path")

    def __init__(self, disk: Disk, path: str, entry: struct.Struct) -> None:
        self._disk = disk
        self.path = path
        self._entry = entry
        self._waiting = bytearray()
        self._file: DiskFile | None = None
        self._written, odd_bytes = divmod(disk.size_bytes(path) if disk.exists(path) else 0, entry.size)
        self._ragged = odd_bytes > 0  # the file may end with part of an entry
        self._has_placeholder = False

    def create(self) -> None:
        """Create an empty file and keep no descriptor: most indexes are not used again for a
        while.
        """
        file = self._opened()
        file.truncate(0)
        file.close()
        self._written = 0
        self._has_placeholder = False
        self._waiting.clear()

    def hold_place(self, *values: Any) -> None:
        """Write an entry that does not count, into a file that has none. On a full disk a part of
        it may be written, which counts as little.
        """
        if self._written or not self._disk.exists(self.path):
            return
        file = self._opened()
        self._has_placeholder = True
        try:
            file.write_at(0, self._entry.pack(*values))
        except OSError as error:
            if not out_of_room(error):
                raise
        finally:
            file.close()

    def remove_placeholder(self) -> None:
        """Cut the placeholder off, unless waiting entries will overwrite it."""
        if self._has_placeholder and not self._waiting:
            self._opened().truncate(0)
            self._has_placeholder = False

    def __len__(self) -> int:
        return self._written + len(self._waiting) // self._entry.size

    def append(self, *values: Any) -> None:
        """A full disk does not fail an index: its entries stay in memory."""
        self._waiting += self._entry.pack(*values)
        if len(self._waiting) >= WAITING_BYTES_MAX:
            self.write_out_if_room()

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        size = self._entry.size
        if index >= self._written:
            return self._entry.unpack_from(self._waiting, (index - self._written) * size)
        return self._entry.unpack(self._opened().read_at(index * size, size))

    def read_all(self) -> list[tuple[Any, ...]]:
        # A node has thousands of empty indexes and opens none of them at start.
        data = self._opened().read_at(0, self._written * self._entry.size) if self._written else b""
        return list(self._entry.iter_unpack(data[: len(data) // self._entry.size * self._entry.size] + self._waiting))

    def write_out(self) -> None:
        if self._waiting:
            self._opened().write_at(self._written * self._entry.size, self._waiting)
            self._written += len(self._waiting) // self._entry.size
            self._has_placeholder = False
            self._waiting.clear()

    def write_out_if_room(self) -> None:
        try:
            self.write_out()
        except OSError as error:
            if not out_of_room(error):
                raise

    def withdraw(self) -> None:
        """Remove the file and keep its entries in memory. The next start derives a missing index
        again, but would trust one that is too short.
        """
        if self._disk.exists(self.path):
            self._waiting[:0] = self._opened().read_at(0, self._written * self._entry.size)
            self._opened().close()
            self._disk.remove(self.path)
        self._file, self._written, self._has_placeholder = None, 0, False

    def truncate(self, count: int) -> None:
        if count >= len(self):
            return
        if count < self._written:
            self._opened().truncate(count * self._entry.size)
            self._written = count
        del self._waiting[(count - self._written) * self._entry.size :]

    def trim(self) -> None:
        """Cut a partial entry, which a crash or a foreign writer can leave at the end."""
        self.write_out()
        if self._ragged:
            self._opened().truncate(self._written * self._entry.size)
            self._ragged = False

    def sync(self) -> None:
        """Wait until the written entries are durable. Safe on another thread: it does not touch the
        waiting ones.
        """
        if self._file is not None or self._written:
            self._opened().sync()

    def close(self) -> None:
        self.write_out()
        self.remove_placeholder()
        self.abandon()

    def abandon(self) -> None:
        """Close without writing the waiting entries."""
        if self._file is not None:
            self._file.close()

    def moved_to(self, path: str) -> None:
        self.path = path
        if self._file is not None:
            self._file.moved_to(path)

    def _opened(self) -> DiskFile:
        if self._file is None:
            self._file = self._disk.open(self.path)
        return self._file
