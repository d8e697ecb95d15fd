"""The latest offset of every key in the dirty part of a log, as far as the memory for it allows.

Kafka's map is an array of 24 bytes a key; a Python dict takes about five times that, and is fast
enough only because it is a dict. So the same ``log.cleaner.dedupe.buffer.size`` holds fewer keys
here, and a log with more of them takes more passes. The size counts the real cost of an entry: the
table, the key, the offset, and the list of survivors that is made of the offsets in the end.

Long keys are stored as digests, so that the cost of an entry has a bound. A digest is longer than
any key that is stored as it is, so the two cannot collide.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b

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


class KeyMap:
    """Complete for ``[start_offset, end_offset)``: all batches in that range were added, or have no
    records that count.

    The value of a key is its latest offset, doubled, plus one where that record is a tombstone, so
    that values rise with the offset.
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

    def add(self, keys: list[bytes], offsets: Iterable[int], tombstones: Sequence[int] = ()) -> bool:
        """Add all records of one batch, or none: False when there is no room. The first batch is
        always added: a pass must get further than the one before. ``tombstones`` are indexes of
        records.
        """
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

    def survivors(self, start_offset: int, end_offset: int) -> list[int] | None:
        """The offsets in this range that are the latest of their keys, rising; None when a
        tombstone is among them. Only for ranges within the map, to which no keys may be added
        afterwards.
        """
        if self._survivors is None:
            self._survivors = array("q", sorted(self.latest.values()))
        first = bisect_left(self._survivors, 2 * start_offset)
        found = self._survivors[first : bisect_left(self._survivors, 2 * end_offset, first)]
        if self._has_tombstones and any(each & 1 for each in found):
            return None
        return [each >> 1 for each in found]

    def is_superseded(self, key: bytes, offset: int) -> bool:
        """``key`` as :func:`map_keys` returns it."""
        return self.latest.get(key, -1) >> 1 > offset
