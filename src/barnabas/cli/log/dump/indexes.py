"""``.index``, ``.timeindex`` and ``.txnindex``: entries of fixed width, derived from the log beside
them.

Kafka preallocates an index and truncates it when the segment is closed, so a file that was copied
from a running broker, or left by one that was killed, ends in zeros. Those are not damage.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from barnabas.cli.log.dump.batch_map import BatchMap
from barnabas.cli.log.dump.entries import Entry, at_position
from barnabas.env.disk import Disk
from barnabas.storage.transaction_index import AbortedTransaction

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_TRANSACTION_ENTRY = struct.Struct(">hqqqq")
_TRANSACTION_VERSION = 0


# Called after the index was read: a log that is being written to has at least the batches that its
# index names.
Compared: TypeAlias = Callable[[], BatchMap] | None


def dump_offset_index(disk: Disk, path: str, base_offset: int, compared: Compared) -> Iterator[Entry]:
    """``compared``: the batches of the log, or None to skip the comparison."""
    entries, size_bytes = _read(disk, path, _OFFSET_ENTRY)
    log = compared() if compared is not None else None
    previous = (-1, -1)
    for index, (relative, position) in enumerate(entries):
        where = index * _OFFSET_ENTRY.size
        if relative <= previous[0] or position <= previous[1]:
            raise at_position(
                where, f"offset {base_offset + relative} at {position} follows offset {base_offset + previous[0]} at {previous[1]}"
            )
        previous = (relative, position)
        offset = base_offset + relative
        if log is not None and (log.complete or not log.is_beyond(position)):
            _check_pointer(where, offset, position, log.offsets_at(position))
        yield Entry("offset", {"offset": offset, "position": position})
    yield from _rest(len(entries), size_bytes, _OFFSET_ENTRY)


def _check_pointer(where: int, offset: int, position: int, offsets: tuple[int, int] | None) -> None:
    if offsets is None:
        raise at_position(where, f"no batch begins at position {position} of the log")
    base_offset, last_offset = offsets
    if base_offset > offset:
        # A search for the offset would start after it. An entry written for several batches at
        # once, as followers of older brokers did, may point before the batch.
        raise at_position(where, f"offset {offset} is at {position} in the index, where the log has {base_offset} to {last_offset}")


def dump_time_index(disk: Disk, path: str, base_offset: int, compared: Compared) -> Iterator[Entry]:
    entries, size_bytes = _read(disk, path, _TIME_ENTRY)
    log = compared() if compared is not None else None
    previous_time = -1
    previous_offset = base_offset
    for index, (timestamp, relative) in enumerate(entries):
        where = index * _TIME_ENTRY.size
        offset = base_offset + relative
        if timestamp <= previous_time or offset < previous_offset:
            raise at_position(where, f"time {timestamp} of offset {offset} follows time {previous_time} of offset {previous_offset}")
        previous_time, previous_offset = timestamp, offset
        if log is not None and (log.complete or log.reaches(offset)):
            _check_time(where, timestamp, offset, *log.newest_up_to(offset))
        yield Entry("time", {"timestamp": timestamp, "offset": offset})
    yield from _rest(len(entries), size_bytes, _TIME_ENTRY)


def _check_time(where: int, timestamp: int, offset: int, ended: int | None, begun: int | None) -> None:
    """The batch that contains the offset may count or not: older brokers wrote the offset of the
    newest record in it."""
    if ended is not None and ended > timestamp:
        raise at_position(where, f"the largest timestamp up to offset {offset} is {timestamp} in the index, but {ended} in the log")
    if begun is None or begun < timestamp:
        newest = "nothing" if begun is None else f"at most {begun}"
        raise at_position(where, f"the largest timestamp up to offset {offset} is {timestamp} in the index, but {newest} in the log")


def dump_transaction_index(disk: Disk, path: str) -> Iterator[Entry]:
    entries, size_bytes = _read(disk, path, _TRANSACTION_ENTRY)
    previous = -1
    for index, (version, *values) in enumerate(entries):
        where = index * _TRANSACTION_ENTRY.size
        if version != _TRANSACTION_VERSION:
            raise at_position(where, f"an aborted transaction of version {version}")
        aborted = AbortedTransaction(*values)
        if aborted.last_offset <= previous or aborted.first_offset > aborted.last_offset:
            raise at_position(where, f"an abort of offsets {aborted.first_offset} to {aborted.last_offset} follows offset {previous}")
        previous = aborted.last_offset
        yield Entry("aborted_transaction", aborted._asdict())
    yield from _rest(len(entries), size_bytes, _TRANSACTION_ENTRY)


def _read(disk: Disk, path: str, entry: struct.Struct) -> tuple[list[tuple[Any, ...]], int]:
    """The entries before the zeros, and the size of the file. A single entry of zeros is valid."""
    data = disk.read(path)
    whole = len(data) // entry.size
    # Strip zeros first instead of decoding entry by entry: most of the ten megabytes that Kafka
    # preallocates are zeros.
    used = min(whole, max(-(-len(data.rstrip(b"\0")) // entry.size), whole == 1))
    return list(entry.iter_unpack(data[: used * entry.size])), len(data)


def _rest(used: int, size_bytes: int, entry: struct.Struct) -> Iterator[Entry]:
    """The bytes after the entries: preallocated room, or a partial entry."""
    rest = size_bytes - used * entry.size
    if rest >= entry.size:
        yield Entry("unused", {"position": used * entry.size, "size_bytes": rest})
    elif rest:
        raise at_position(used * entry.size, f"{rest} bytes are left, too few for an entry")
