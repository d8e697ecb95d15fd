"""Finishing or undoing the swap of a compacted segment that a crash interrupted; see
:mod:`~barnabas.storage.compaction.swap`.
"""

from __future__ import annotations

from barnabas.env.disk import Disk
from barnabas.records.batch_header import HEADER_BYTES, read_header
from barnabas.records.batches import CorruptBatch, check_shape
from barnabas.storage.file_names import CLEANED_SUFFIX, LOG_SUFFIX, SEGMENT_SUFFIXES, SWAP_SUFFIX, offset_name, parse_segment_file

WALK_READ_BYTES = 1024 * 1024


def finish_interrupted_swaps(disk: Disk, directory: str) -> list[str]:
    """Finish or undo the swaps of the last owner, before ``.cleaned`` files are removed; returns a
    description of each step.
    """
    notes = _undo_uncommitted(disk, directory)
    for name in disk.names(directory):
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX) and (parsed := parse_segment_file(name)) is not None:
            notes += _complete(disk, directory, parsed[0])
    placed = [name for name in disk.names(directory) if name.endswith(SWAP_SUFFIX)]
    for name in placed:
        # Indexes of a log that is already in place.
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP_SUFFIX)}")
        notes.append(f"finished swapping {name}")
    if placed:
        disk.sync_directory(directory)
    return notes


def _undo_uncommitted(disk: Disk, directory: str) -> list[str]:
    """An index that was renamed before its log belongs to nothing. It is removed while the log's
    name still shows that.
    """
    names = set(disk.names(directory))
    stray = []
    for name in sorted(names):
        parsed = parse_segment_file(name)
        if parsed is None or parsed[2] != SWAP_SUFFIX or parsed[1] == LOG_SUFFIX:
            continue
        log_name = offset_name(parsed[0]) + LOG_SUFFIX
        if log_name + CLEANED_SUFFIX in names and log_name + SWAP_SUFFIX not in names:
            stray.append(name)
    for name in stray:
        disk.remove(f"{directory}/{name}")
    if stray:
        disk.sync_directory(directory)
    return [f"removed {name}, whose log was not swapped" for name in stray]


def _complete(disk: Disk, directory: str, base_offset: int) -> list[str]:
    """A swapped-in log replaces every old segment whose offsets it covers. Its indexes are derived
    again, since the ones found here may belong to the old segments.
    """
    path = f"{directory}/{offset_name(base_offset)}{LOG_SUFFIX}"
    end = _end_of(disk, path + SWAP_SUFFIX, base_offset)
    notes = []
    for name in disk.names(directory):
        parsed = parse_segment_file(name)
        if parsed is None or parsed[1] not in SEGMENT_SUFFIXES:
            continue
        base, suffix, mark = parsed
        replaced = base_offset < base < end and not mark
        if replaced or (base == base_offset and suffix != LOG_SUFFIX and mark in ("", SWAP_SUFFIX)):
            disk.remove(f"{directory}/{name}")
            notes.append(f"removed {name}, replaced by a compacted segment")
    # The old segments are removed durably first: one that came back beside the compacted segment
    # would hold its offsets a second time.
    disk.sync_directory(directory)
    disk.rename(path + SWAP_SUFFIX, path)
    disk.sync_directory(directory)
    return [*notes, f"finished swapping {offset_name(base_offset)}{LOG_SUFFIX}"]


def _end_of(disk: Disk, path: str, base_offset: int) -> int:
    """One above the last offset of a log's file. The swap replaces nothing behind a damaged
    header.
    """
    position, end, size_bytes = 0, base_offset, disk.size_bytes(path)
    while position + HEADER_BYTES <= size_bytes:
        chunk = disk.read_range(path, position, WALK_READ_BYTES)
        start = 0
        while len(chunk) - start >= HEADER_BYTES:
            header = read_header(chunk, start)
            try:
                check_shape(header, position + start)
            except CorruptBatch:
                return end
            if position + start + header.size_bytes > size_bytes:
                return end
            end = header.last_offset + 1
            start += header.size_bytes
        position += start
    return end
