"""``.index``: from an offset to a position in the segment, one entry for about every 4 KiB.

An entry holds the *last* offset of a batch and the position of that batch, both relative. So a
lookup gives a batch at or before the one that holds the offset; the reader walks on from there.
Offsets rise strictly.

The active segment's entries are also kept in memory and searched there; a closed segment is
searched on disk, because a broker has many of those and each is rarely read.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right

from barnabas.env.disk import Disk
from barnabas.storage.index_file import IndexFile

_ENTRY = struct.Struct(">ii")
ENTRY_BYTES = _ENTRY.size


class OffsetIndex:
    __slots__ = ("_file", "_offsets", "_positions", "base_offset")

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self._file = IndexFile(disk, path, _ENTRY)
        self.base_offset = base_offset
        self._offsets: array[int] | None = None  # in memory while the segment is active
        self._positions: array[int] = array("i")

    def __len__(self) -> int:
        return len(self._file)

    @property
    def file(self) -> IndexFile:
        return self._file

    def activate(self) -> None:
        """Load the entries into memory, because the segment will be appended to."""
        entries = self._file.read_all()
        self._offsets = array("i", [offset for offset, _ in entries])
        self._positions = array("i", [position for _, position in entries])

    def hold_place(self, last_offset: int) -> None:
        """``last_offset`` is that of the first batch: true, and no entry, because searches begin
        there anyway.
        """
        if not len(self._file):
            self._file.hold_place(last_offset - self.base_offset, 0)

    def seal(self) -> None:
        """Release the memory: the segment will not be appended to. Its entries are written."""
        self._file.remove_placeholder()
        self._offsets, self._positions = None, array("i")

    def reset(self) -> None:
        self._file.create()
        self._offsets, self._positions = array("i"), array("i")

    def append(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        assert self._offsets is not None, "only the active segment is appended to"
        assert not self._offsets or relative > self._offsets[-1], f"offset {offset} does not rise in {self._file.path}"
        self._offsets.append(relative)
        self._positions.append(position)
        self._file.append(relative, position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """The greatest indexed offset at or below ``offset`` and the position of its batch; the
        segment's start where there is none.
        """
        relative = offset - self.base_offset
        if self._offsets is not None:
            slot = bisect_right(self._offsets, relative) - 1
            if slot < 0:
                return self.base_offset, 0
            return self.base_offset + self._offsets[slot], self._positions[slot]
        low, high = 0, len(self._file)
        found, position = 0, 0
        while low < high:
            middle = (low + high) // 2
            here, where = self._file[middle]
            if here <= relative:
                found, position, low = here, where, middle + 1
            else:
                high = middle
        return self.base_offset + found, position

    def last(self) -> tuple[int, int]:
        if not len(self._file):
            return self.base_offset, 0
        relative, position = self._file[len(self._file) - 1]
        return self.base_offset + relative, position

    def truncate_to(self, offset: int) -> None:
        """Drop entries at and above ``offset``."""
        if self._offsets is None:
            self.activate()
        assert self._offsets is not None
        keep = bisect_right(self._offsets, offset - self.base_offset - 1)
        del self._offsets[keep:]
        del self._positions[keep:]
        self._file.truncate(keep)

    def fault(self, log_bytes: int) -> str | None:
        """Why this index cannot belong to a log of ``log_bytes`` bytes; None when it can."""
        entries = self._file.read_all()
        previous = (-1, -1)
        for entry in entries:
            if entry[0] <= previous[0] or entry[1] <= previous[1] or entry[1] >= log_bytes:
                return f"entry {entry} after {previous} in a log of {log_bytes} bytes"
            previous = (entry[0], entry[1])
        return None
