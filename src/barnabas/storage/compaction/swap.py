"""Putting a cleaned segment in the place of its sources, so that a crash at any step leaves one or
the other.

===  ==============================================  =============================================
     step                                            after a crash
===  ==============================================  =============================================
0    the cleaning writes ``.cleaned`` files and      recovery removes them
     syncs them
1    ``.cleaned`` becomes ``.swap``, the log last;   if the log's ``.swap`` exists, recovery
     the directory is synced                         continues from here; otherwise it removes
                                                     the other ``.swap`` files
2    the old segments become ``.deleted``, and the   recovery removes the old segments, puts the
     new transaction index gets its name; the        log in place and derives its indexes again
     directory is synced
3    the log and its other two indexes get their     the same, or recovery puts an index in place
     names                                           after its log
===  ==============================================  =============================================

Step 2 is durable before step 3 begins: an old segment that came back behind the new one would hold
offsets a second time. The transaction index belongs to step 2, since recovery cannot notice that it
is missing, as it does for the others. A power cut may undo step 3 until the next sync of the
directory, which is harmless.

All of this runs on the thread that owns the log. It waits for the disk twice, once for every few
hundred megabytes that were cleaned. After a crash,
:mod:`~barnabas.storage.compaction.interrupted_swaps` finishes the swap when the log is opened.
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
    """Replace the sources of a cleaned segment by it; returns the old files, to be removed when no
    reader uses them any more.

    Returns None when the log has changed since: it was truncated, or lost segments. Then the
    cleaned files are removed and the log stays as it is. After an ``OSError`` the directory must be
    given up.
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
        # Also on a full disk, unlike other operations, which then change nothing: here the names
        # are halfway between old and new.
        raise OSError(EIO, f"cleaned segment {cleaned.base_offset} could not be swapped in: {error}", log.directory) from error


def _sources_in(log: Log, cleaned: CleanedSegment) -> list[Segment] | None:
    """The sources of a cleaned segment in the log, if they are unchanged, adjacent and sealed."""
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
