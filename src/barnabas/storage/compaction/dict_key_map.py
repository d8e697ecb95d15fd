"""The key map in plain Python, which is fast enough because it is a dict.

The size counts the real cost of an entry: the table, the key, the offset, and the list of survivors
that is made of the offsets in the end.

Long keys are stored as digests, so that the cost of an entry has a bound. A digest is longer than
any key that is stored as it is, so the two cannot collide.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from hashlib import blake2b

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import BatchHeader
from barnabas.records.record_scan import scan_records
from barnabas.storage.compaction.key_map import Staying

KEY_BYTES_MAX = 63
DIGEST_BYTES = 64
STRETCH_ENTRIES = 1024
# The offset as an object, and two slots in lists while the survivors are sorted.
_OFFSET_OBJECT_BYTES = 32 + 2 * 8
_BYTES_OBJECT_BYTES = 33
_ALLOCATION_BYTES = 16
# The table of a dict has a power of two of slots, and entries for two thirds of them, of three
# words each.
_TABLE_BYTES_PER_SLOT = 4 + 24 * 2 // 3


def map_key(key: bytes) -> bytes:
    """The form in which a key is stored in the map."""
    return key if len(key) <= KEY_BYTES_MAX else blake2b(key, digest_size=DIGEST_BYTES).digest()


def map_keys(keys: list[bytes]) -> list[bytes]:
    if max(map(len, keys), default=0) <= KEY_BYTES_MAX:
        return keys
    return [map_key(key) for key in keys]


def _entry_bytes(key_bytes: int) -> int:
    return _OFFSET_OBJECT_BYTES + -(-(_BYTES_OBJECT_BYTES + key_bytes) // _ALLOCATION_BYTES) * _ALLOCATION_BYTES


def _table_bytes(entries: int) -> int:
    slots: int = 1 << (entries * 3 // 2).bit_length()
    return slots * _TABLE_BYTES_PER_SLOT


class DictKeyMap:
    """The value of a key is its latest offset, doubled, plus one where that record is a tombstone,
    so that values rise with the offset.
    """

    def __init__(self, start_offset: int, *, size_bytes_max: int) -> None:
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.latest: dict[bytes, int] = {}
        self._has_tombstones = False
        self._size_bytes_max = size_bytes_max
        self._entries_bytes = 0
        self._free_entries = 0  # that certainly fit
        self._survivors: array[int] | None = None

    def __len__(self) -> int:
        return len(self.latest)

    @property
    def size_bytes(self) -> int:
        return self._entries_bytes + _table_bytes(len(self.latest))

    def add(self, header: BatchHeader, body: Buffer) -> int | None:
        keys, deltas, tombstones, keyless = scan_records(header, body)
        base_offset = header.base_offset
        if keyless or base_offset < self.start_offset:
            skipped, first = set(keyless), self.start_offset - base_offset
            kept = [index for index, delta in enumerate(deltas) if delta >= first and index not in skipped]
            keys, deltas = [keys[index] for index in kept], [deltas[index] for index in kept]
            were_tombstones = set(tombstones)
            tombstones = [place for place, index in enumerate(kept) if index in were_tombstones]
        return len(keyless) if self._add(keys, [base_offset + delta for delta in deltas], tombstones) else None

    def _add(self, keys: list[bytes], offsets: list[int], tombstones: list[int]) -> bool:
        """``tombstones`` are indexes of records."""
        assert self._survivors is None, "the map is complete"
        if not keys:
            return True
        keys = map_keys(keys)
        latest = self.latest
        before = len(latest)
        entry_bytes = _entry_bytes(max(map(len, keys)))
        if len(keys) > self._free_entries and latest and not self._has_room(keys, entry_bytes):
            return False
        doubled = [2 * offset for offset in offsets]
        for index in tombstones:
            doubled[index] += 1
            self._has_tombstones = True
        latest.update(zip(keys, doubled, strict=True))
        added = len(latest) - before
        self._entries_bytes += added * entry_bytes
        self._free_entries -= added
        return True

    def _has_room(self, keys: list[bytes], entry_bytes: int) -> bool:
        # To make this check rare, it finds a number of entries that fit even if all are new and of
        # the costliest kind.
        for entries in (max(STRETCH_ENTRIES, len(keys)), len(keys)):
            if self._holds(entries, _entry_bytes(DIGEST_BYTES)):
                self._free_entries = entries
                return True
        return self._holds(len(set(keys) - self.latest.keys()), entry_bytes)

    def _holds(self, more: int, entry_bytes: int) -> bool:
        return self._entries_bytes + more * entry_bytes + _table_bytes(len(self.latest) + more) <= self._size_bytes_max

    def survivors(self, base_offset: int, end_offset: int) -> list[int] | None:
        if self._survivors is None:
            self._survivors = array("q", sorted(self.latest.values()))
        first = bisect_left(self._survivors, 2 * base_offset)
        found = self._survivors[first : bisect_left(self._survivors, 2 * end_offset, first)]
        if self._has_tombstones and any(each & 1 for each in found):
            return None
        return [(each >> 1) - base_offset for each in found]

    def staying(self, header: BatchHeader, body: Buffer, *, without_tombstones: bool) -> Staying:
        keys, deltas, tombstones, keyless = scan_records(header, body)
        keys, latest = map_keys(keys), self.latest
        if not tombstones and not keyless and header.last_offset < self.start_offset and latest.keys().isdisjoint(keys):
            return Staying(list(range(len(keys))), False)
        removed = {*keyless, *tombstones} if without_tombstones else set(keyless)
        base_offset, unmapped = header.base_offset, self.end_offset - header.base_offset
        kept = [
            index
            for index, (key, delta) in enumerate(zip(keys, deltas, strict=True))
            if delta >= unmapped or (index not in removed and latest.get(key, -1) >> 1 <= base_offset + delta)
        ]
        return Staying(kept, not set(tombstones).isdisjoint(kept))
