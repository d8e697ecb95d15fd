"""``.txnindex``: the aborted transactions that end in this segment, so that readers can skip their
records.

The file exists only where there are entries. They are few and kept in memory once read.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from barnabas.env.disk import Disk
from barnabas.storage.index_file import IndexFile

_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the abort marker
    # When the marker was written: all transactions that began earlier had ended.
    last_stable_offset: int


class TransactionIndex:
    __slots__ = ("_disk", "_entries", "_file", "nameless")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._file = IndexFile(disk, path, _ENTRY)
        self._entries: list[AbortedTransaction] | None = None if disk.exists(path) else []
        # Created, but its directory was not synced since: a power cut would remove the name, and
        # readers would see aborted records.
        self.nameless = False

    @property
    def file(self) -> IndexFile:
        return self._file

    @property
    def on_disk(self) -> bool:
        return self._disk.exists(self._file.path)

    def entries(self) -> list[AbortedTransaction]:
        if self._entries is None:
            self._entries = [AbortedTransaction(*values) for _, *values in self._file.read_all()]
        return self._entries

    def append(self, aborted: AbortedTransaction) -> None:
        entries = self.entries()
        assert not entries or aborted.last_offset > entries[-1].last_offset, "aborts are indexed in the order of their markers"
        if not entries:
            self.nameless = True
        entries.append(aborted)
        self._file.append(_VERSION, *aborted)
        # Rare, and a reader that misses one serves aborted data, so it goes to the file at once.
        # When the disk is full, the unwritten entry keeps the segment from counting as flushed.
        self._file.write_out_if_room()

    def reset(self) -> None:
        if self.on_disk:
            self._file.create()
        self._entries = []

    def truncate_to(self, offset: int) -> None:
        entries = self.entries()
        keep = sum(1 for each in entries if each.last_offset < offset)
        if keep < len(entries):
            del entries[keep:]
            self._file.truncate(keep)

    def collect(self, start_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Aborted transactions with records in ``[start_offset, end_offset)``, and whether later
        segments cannot add any.
        """
        found = []
        for each in self.entries():
            if each.last_offset >= start_offset and each.first_offset < end_offset:
                found.append(each)
            if each.last_stable_offset >= end_offset:
                return found, True
        return found, False

    def fault(self) -> str | None:
        previous = -1
        for each in self.entries():
            if each.last_offset <= previous or each.first_offset > each.last_offset:
                return f"aborted transaction {each} is out of order"
            previous = each.last_offset
        return None
