"""The indexes of one segment against its log. An index is derived, so its first wrong entry
invalidates it as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.cli.log.dump.entries import Damage, Entry
from barnabas.cli.log.dump.indexes import dump_offset_index, dump_time_index, dump_transaction_index
from barnabas.cli.log.verify.findings import Scrub
from barnabas.cli.log.verify.segment_scrub import ScrubbedSegment
from barnabas.env.disk import Disk
from barnabas.storage.file_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX

# On a full disk a node continues without these indexes. The transaction index is not covered: it
# exists only if transactions were aborted.
_MISSING = "it is missing; the next start derives it from the log"


def scrub_indexes(scrub: Scrub, disk: Disk, stem: str, base_offset: int, segment: ScrubbedSegment, *, active: bool) -> None:
    """``stem`` is the path of the segment's files without their suffixes."""
    path = stem + INDEX_SUFFIX
    if disk.exists(path):
        read_all(scrub, path, dump_offset_index(disk, path, base_offset, lambda: segment.batches))
    else:
        scrub.note(path, _MISSING)
    path = stem + TIME_INDEX_SUFFIX
    if disk.exists(path):
        compared = (lambda: segment.batches) if segment.times_known else None
        times = read_all(scrub, path, dump_time_index(disk, path, base_offset, compared))
        if times is not None and not active and segment.times_known:
            _check_last_time(scrub, path, times, segment)
    else:
        scrub.note(path, _MISSING)
    _scrub_transaction_index(scrub, disk, stem + TRANSACTION_INDEX_SUFFIX, segment, active=active)


def read_all(scrub: Scrub, path: str, entries: Iterator[Entry]) -> list[Entry] | None:
    """The entries of an intact file; None, and a finding, for a damaged one."""
    try:
        return list(entries)
    except Damage as damage:
        scrub.find_damage(path, damage)
    except (OSError, ValueError) as error:
        scrub.find_wrong(path, f"it cannot be read: {error}")
    return None


def _check_last_time(scrub: Scrub, path: str, entries: list[Entry], segment: ScrubbedSegment) -> None:
    """The last entry of a closed segment holds its largest timestamp, which retention by time
    uses."""
    newest = segment.batches.newest
    last = next((each.fields["timestamp"] for each in reversed(entries) if each.kind == "time"), -1)
    if segment.batches.complete and newest is not None and last < newest:
        scrub.find_wrong(path, f"its last entry is of {last}, but the segment has a record of {newest}")


def _scrub_transaction_index(scrub: Scrub, disk: Disk, path: str, segment: ScrubbedSegment, *, active: bool) -> None:
    entries = read_all(scrub, path, dump_transaction_index(disk, path)) if disk.exists(path) else []
    if entries is None:
        return
    indexed = {each.fields["last_offset"]: each.fields["producer_id"] for each in entries if each.kind == "aborted_transaction"}
    markers = {each.offset: each.producer_id for each in segment.aborts}
    for number, (offset, producer_id) in enumerate(indexed.items()):
        if markers.get(offset) == producer_id or (not segment.batches.complete and not segment.batches.reaches(offset)):
            continue
        scrub.find_wrong(path, f"entry {number} has an abort of producer {producer_id}, but the log has no marker for it", offset=offset)
    for marker in segment.aborts:
        if marker.aborts_records and marker.offset not in indexed and not active:
            scrub.find_wrong(
                path,
                f"the abort of producer {marker.producer_id} is not in it: consumers would receive aborted records",
                offset=marker.offset,
            )
