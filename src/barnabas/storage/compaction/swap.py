"""Putting a cleaned segment in the place of the segments it was made from, so that a crash at any step leaves one or the other.

===  ==========================================================================  ==================================================
     step                                                                        a crash after it
===  ==========================================================================  ==================================================
0    the cleaning wrote ``.cleaned`` files and synced them                       they are removed
1    ``.cleaned`` becomes ``.swap``, the log last; the directory is synced       the log's ``.swap`` decides: with it recovery goes on
                                                                                 from here, without it the other ``.swap`` are removed
2    the old segments become ``.deleted``, and the new transaction index         recovery removes the old ones, puts the log in place
     gets its name; the directory is synced                                      and derives its indexes again
3    the log and its other two indexes get their names                           likewise, or an index is put in place behind its log
===  ==========================================================================  ==================================================

Step 2 is durable before step 3 begins: an old segment that came back behind the new one would hold offsets a second time. The
transaction index goes with step 2 since, unlike the others, nobody misses it when it is not there. Step 3 may be undone by a power cut as
long as nobody syncs the directory, and that is fine.

All of this runs on the thread that owns the log. It waits for the disk twice, once for every few hundred megabytes that were cleaned.
What a crash leaves of it is finished by :mod:`~barnabas.storage.compaction.interrupted_swaps` when the log is opened.
"""

from __future__ import annotations

from errno import EIO

from barnabas.storage.compaction.cleaned_files import remove_cleaned
from barnabas.storage.compaction.cleaning_job import CleanedSegment
from barnabas.storage.file_names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
)
from barnabas.storage.log import Log
from barnabas.storage.removal import Removal, mark_deleted
from barnabas.storage.segment import Segment

_INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


def swap_in(log: Log, cleaned: CleanedSegment) -> Removal | None:
    """Replace the sources of a cleaned segment by it; the old files, to be removed when nobody reads them any more.

    None when the log has changed since: it was cut, or gave segments up. Then the cleaned files are removed and nothing else happens.
    After an ``OSError`` the directory must be given up.
    """
    sources = _sources_in(log, cleaned)
    if sources is None:
        remove_cleaned(log.disk, log.directory, cleaned.base_offset)
        return None
    if cleaned.unchanged:
        return Removal(log.disk, (), 0, 0)
    try:
        return _swap(log, cleaned, sources)
    except OSError as error:
        # Also on a full disk, which other operations leave as they found it: here the names are halfway between old and new.
        raise OSError(EIO, f"cleaned segment {cleaned.base_offset} was not put in place: {error}", log.directory) from error


def _sources_in(log: Log, cleaned: CleanedSegment) -> list[Segment] | None:
    """The log's own segments that a cleaned one was made from, if they are still what they were, side by side and sealed."""
    if log.truncations != cleaned.truncations:
        return None
    present = {segment.base_offset: segment for segment in log.segments if segment is not log.segments.active}
    sources = [present[source.base_offset] for source in cleaned.sources if source.base_offset in present]
    if [(each.base_offset, each.next_offset, each.size_bytes) for each in sources] != [
        (source.base_offset, source.next_offset, source.size_bytes) for source in cleaned.sources
    ]:
        return None
    covered = [each for each in log.segments if sources[0].base_offset <= each.base_offset <= sources[-1].base_offset]
    return sources if covered == sources else None


def _swap(log: Log, cleaned: CleanedSegment, sources: list[Segment]) -> Removal:
    disk, directory = log.disk, log.directory
    stem = f"{directory}/{offset_name(cleaned.base_offset)}"
    for suffix in (*_INDEX_SUFFIXES, LOG_SUFFIX):
        if disk.exists(stem + suffix + CLEANED_SUFFIX):
            disk.rename(stem + suffix + CLEANED_SUFFIX, stem + suffix + SWAP_SUFFIX)
    disk.sync_directory(directory)

    removal = mark_deleted(disk, directory, sources, snapshots_from=cleaned.base_offset + 1)
    if disk.exists(stem + TRANSACTION_INDEX_SUFFIX + SWAP_SUFFIX):
        disk.rename(stem + TRANSACTION_INDEX_SUFFIX + SWAP_SUFFIX, stem + TRANSACTION_INDEX_SUFFIX)
    disk.sync_directory(directory)

    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX):
        disk.rename(stem + suffix + SWAP_SUFFIX, stem + suffix)
    segment = Segment(
        disk,
        directory,
        cleaned.base_offset,
        index_interval_bytes=log.settings.index_interval_bytes,
        created_ms=sources[0].created_ms,
    )
    segment.load_tail()
    assert (segment.size_bytes, segment.next_offset) == (cleaned.size_bytes, cleaned.next_offset), f"{segment.file.path} is another one"
    log.replace_segments(sources, segment)
    return removal
