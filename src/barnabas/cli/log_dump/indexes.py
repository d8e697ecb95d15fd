"""``.index``, ``.timeindex`` and ``.txnindex``: entries of fixed width, derived from the log beside them.

Kafka gives an index its full size when it makes it and cuts it when the segment is closed, so a file that was copied from a running
broker, or left by one that was killed, ends in zeros. Those are no damage.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from barnabas.cli.log_dump.entries import Damage, Entry, at_position
from barnabas.cli.log_dump.segments import read_batches
from barnabas.env.disk import Disk
from barnabas.records.batch_header import BatchHeader
from barnabas.storage.index_file import IndexFile
from barnabas.storage.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES, OffsetIndex
from barnabas.storage.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES, TimeIndex
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex

_TRANSACTION_VERSION = 0
TRANSACTION_ENTRY_BYTES = struct.calcsize(">hqqqq")


def dump_offset_index(disk: Disk, path: str, base_offset: int, log_path: str | None) -> Iterator[Entry]:
    """``log_path``: the log to compare with, or None to believe the index."""
    entries = _read(OffsetIndex(disk, path, base_offset).file)
    used = _used(entries)
    batches = _batches_by_position(disk, log_path) if log_path is not None else None
    previous = (-1, -1)
    for index, (relative, position) in enumerate(entries[:used]):
        where = index * OFFSET_ENTRY_BYTES
        if relative <= previous[0] or position <= previous[1]:
            raise at_position(
                where, f"offset {base_offset + relative} at {position} follows offset {base_offset + previous[0]} at {previous[1]}"
            )
        previous = (relative, position)
        offset = base_offset + relative
        if batches is not None:
            _check_pointer(where, offset, position, batches.get(position))
        yield Entry("offset", {"offset": offset, "position": position})
    yield from _rest(disk, path, used=used, read=len(entries), entry_bytes=OFFSET_ENTRY_BYTES)


def _check_pointer(where: int, offset: int, position: int, batch: BatchHeader | None) -> None:
    if batch is None:
        raise at_position(where, f"no batch begins at position {position} of the log")
    if batch.base_offset > offset:
        # Then a search for the offset would begin behind it. An entry written for several batches at once, as followers of older
        # brokers did, may well point in front of the batch.
        raise at_position(
            where, f"offset {offset} is said to be at {position}, where the log has {batch.base_offset} to {batch.last_offset}"
        )


def dump_time_index(disk: Disk, path: str, base_offset: int, log_path: str | None) -> Iterator[Entry]:
    entries = _read(TimeIndex(disk, path, base_offset).file)
    used = _used(entries)
    batches = iter(_batches_by_position(disk, log_path).values() if log_path is not None else ())
    batch = next(batches, None)
    newest = previous_time = -1
    previous_offset = base_offset
    for index, (timestamp, relative) in enumerate(entries[:used]):
        where = index * TIME_ENTRY_BYTES
        offset = base_offset + relative
        if timestamp <= previous_time or offset < previous_offset:
            raise at_position(where, f"time {timestamp} of offset {offset} follows time {previous_time} of offset {previous_offset}")
        previous_time, previous_offset = timestamp, offset
        while batch is not None and batch.last_offset <= offset:
            newest = max(newest, batch.max_timestamp)
            batch = next(batches, None)
        if newest > timestamp:
            raise at_position(where, f"nothing up to offset {offset} is said to be newer than {timestamp}, but the log has {newest}")
        yield Entry("time", {"timestamp": timestamp, "offset": offset})
    yield from _rest(disk, path, used=used, read=len(entries), entry_bytes=TIME_ENTRY_BYTES)


def dump_transaction_index(disk: Disk, path: str) -> Iterator[Entry]:
    entries = _read(TransactionIndex(disk, path).file)
    previous = -1
    for index, (version, *values) in enumerate(entries):
        where = index * TRANSACTION_ENTRY_BYTES
        if version != _TRANSACTION_VERSION:
            raise at_position(where, f"an aborted transaction of version {version}")
        aborted = AbortedTransaction(*values)
        if aborted.last_offset <= previous or aborted.first_offset > aborted.last_offset:
            raise at_position(where, f"an abort of offsets {aborted.first_offset} to {aborted.last_offset} follows offset {previous}")
        previous = aborted.last_offset
        yield Entry("aborted_transaction", aborted._asdict())
    yield from _rest(disk, path, used=len(entries), read=len(entries), entry_bytes=TRANSACTION_ENTRY_BYTES)


def _read(file: IndexFile) -> list[tuple[Any, ...]]:
    entries = file.read_all()
    file.abandon()
    return entries


def _used(entries: list[tuple[Any, ...]]) -> int:
    """How many entries there are in front of the zeros. A single one may say zero and mean it."""
    used = len(entries)
    while len(entries) > 1 and used and not any(entries[used - 1]):
        used -= 1
    return used


def _rest(disk: Disk, path: str, *, used: int, read: int, entry_bytes: int) -> Iterator[Entry]:
    """What lies behind the entries: room for more, or a part of one."""
    size_bytes = disk.size_bytes(path)
    if used < read:
        yield Entry("unused", {"position": used * entry_bytes, "size_bytes": size_bytes - used * entry_bytes})
    elif size_bytes != read * entry_bytes:
        raise at_position(read * entry_bytes, f"{size_bytes - read * entry_bytes} bytes are left, too few for an entry")


def _batches_by_position(disk: Disk, path: str) -> dict[int, BatchHeader]:
    """As far as the log goes: where it is damaged is the log's own affair."""
    found: dict[int, BatchHeader] = {}
    file = disk.open(path)
    try:
        for batch in read_batches(file):
            found[batch.position] = batch.header
    except Damage:
        pass
    finally:
        file.close()
    return found
