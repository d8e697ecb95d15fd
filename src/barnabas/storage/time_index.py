"""``.timeindex``: from a timestamp to an offset.

An entry means: up to this offset, no record of the segment is newer than this timestamp. Entries
are added together with those of the offset index, only when the timestamp grew, and once more when
the segment is closed, so that the last entry of a closed segment holds its largest timestamp.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right

from barnabas.env.disk import Disk
from barnabas.storage.index_file import IndexFile

_ENTRY = struct.Struct(">qi")
ENTRY_BYTES = _ENTRY.size


class TimeIndex:
    __slots__ = ("_file", "_offsets", "_timestamps", "base_offset")

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self._file = IndexFile(disk, path, _ENTRY)
        self.base_offset = base_offset
        self._timestamps: array[int] | None = None  # in memory while the segment is active
        self._offsets: array[int] = array("i")

    def __len__(self) -> int:
        return len(self._file)

    @property
    def file(self) -> IndexFile:
        return self._file

    def activate(self) -> None:
        entries = self._file.read_all()
        self._timestamps = array("q", [timestamp for timestamp, _ in entries])
        self._offsets = array("i", [offset for _, offset in entries])

    def seal(self) -> None:
        self._timestamps, self._offsets = None, array("i")

    def reset(self) -> None:
        self._file.create()
        self._timestamps, self._offsets = array("q"), array("i")

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Only a larger timestamp is added."""
        last_timestamp, last_offset = self.last()
        if timestamp <= last_timestamp:
            return
        relative = offset - self.base_offset
        assert not len(self._file) or offset >= last_offset, f"offset {offset} after {last_offset} in {self._file.path}"
        if self._timestamps is None:
            self.activate()
        assert self._timestamps is not None
        self._timestamps.append(timestamp)
        self._offsets.append(relative)
        self._file.append(timestamp, relative)

    def last(self) -> tuple[int, int]:
        """The largest timestamp and its offset; (-1, base offset) when there is no entry."""
        if self._timestamps is not None:
            if not self._timestamps:
                return -1, self.base_offset
            return self._timestamps[-1], self.base_offset + self._offsets[-1]
        if not len(self._file):
            return -1, self.base_offset
        timestamp, relative = self._file[len(self._file) - 1]
        return timestamp, self.base_offset + relative

    def lookup(self, timestamp: int) -> int:
        """An offset before which every record is older than ``timestamp``: the start of a search
        for it.
        """
        if self._timestamps is not None:
            slot = bisect_right(self._timestamps, timestamp - 1) - 1
            return self.base_offset + (self._offsets[slot] if slot >= 0 else 0)
        low, high, found = 0, len(self._file), 0
        while low < high:
            middle = (low + high) // 2
            here, relative = self._file[middle]
            if here < timestamp:
                found, low = relative, middle + 1
            else:
                high = middle
        return self.base_offset + found

    def truncate_to(self, offset: int) -> None:
        """Drop entries at and above ``offset``."""
        if self._timestamps is None:
            self.activate()
        assert self._timestamps is not None
        keep = bisect_right(self._offsets, offset - self.base_offset - 1)
        del self._timestamps[keep:]
        del self._offsets[keep:]
        self._file.truncate(keep)

    def fault(self, next_offset: int) -> str | None:
        """Why this index cannot belong to a segment that ends before ``next_offset``; None when it
        can.
        """
        previous = (-1, -1)
        for entry in self._file.read_all():
            if entry[0] <= previous[0] or entry[1] < previous[1] or self.base_offset + entry[1] >= next_offset:
                return f"entry {entry} after {previous} in a segment that ends before offset {next_offset}"
            previous = (entry[0], entry[1])
        return None
