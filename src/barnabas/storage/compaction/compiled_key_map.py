"""The key map as a table of bytes, filled by the compiled record scanner.

The table is Kafka's: open addressing, a hash of 128 bits in the place of the key. The hash is keyed
with a secret of the process, so that a producer cannot find two keys with the same hash, of which
compaction would remove one. Kafka's MD5 does not prevent that.

A slot has 20 bytes, because an offset is stored relative to the first one, in 31 bits and one for a
tombstone. Four more hold the sorted offsets. So the same buffer holds as many keys as Kafka's map,
whose slots have 24. A pass ends where the relative offset would exceed its bits, as if the map were
full.
"""

from __future__ import annotations

from typing import NoReturn

from barnabas.model.buffers import Buffer
from barnabas.model.compiled import MALFORMED, NO_ROOM, KeyTable
from barnabas.records.batch_header import BatchHeader
from barnabas.records.record_scan import scan_records
from barnabas.storage.compaction.key_map import Staying

ENTRY_BYTES = 24


class CompiledKeyMap:
    def __init__(self, start_offset: int, table: KeyTable) -> None:
        self.start_offset = start_offset
        self.end_offset = start_offset
        self._table = table

    def __len__(self) -> int:
        return self._table.entries

    @property
    def size_bytes(self) -> int:
        return self._table.size_bytes

    def add(self, header: BatchHeader, body: Buffer) -> int | None:
        added = self._table.add(body, header.record_count, header.last_offset_delta, header.base_offset, self.start_offset)
        if added == MALFORMED:
            _raise_malformed(header, body)
        return None if added == NO_ROOM else added

    def survivors(self, base_offset: int, end_offset: int) -> list[int] | None:
        return self._table.survivors(base_offset, end_offset)

    def staying(self, header: BatchHeader, body: Buffer, *, without_tombstones: bool) -> Staying:
        found = self._table.staying(
            body, header.record_count, header.last_offset_delta, header.base_offset, self.end_offset, without_tombstones
        )
        if found is None:
            _raise_malformed(header, body)
        return Staying(*found)


def _raise_malformed(header: BatchHeader, body: Buffer) -> NoReturn:
    scan_records(header, body)
    raise AssertionError(f"the two scanners disagree about the batch at offset {header.base_offset}")
