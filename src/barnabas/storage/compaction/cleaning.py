"""One pass of cleaning a log: build the key map, then write group after group of segments again
without superseded records.

The pass reads the dirty part twice and the clean part once. Nothing is written in place: the output
lies beside the log as ``.cleaned`` files until the log swaps it in. An unreadable batch, with a
checksum that does not match or a record that does not fit, raises :class:`Uncleanable`, and nothing
is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.env.disk import Disk
from barnabas.records.batch_header import BatchHeader
from barnabas.records.record_scan import body_of
from barnabas.storage.compaction.batch_filter import BatchFilter, Filtered
from barnabas.storage.compaction.batch_rewrite import Batch
from barnabas.storage.compaction.cleaned_files import CleanedFiles
from barnabas.storage.compaction.cleaning_job import (
    CleanedSegment,
    CleaningJob,
    CleaningResult,
    CleaningStats,
    CleaningStopped,
    SourceSegment,
    Uncleanable,
)
from barnabas.storage.compaction.key_map import KeyMap
from barnabas.storage.compaction.new_key_map import new_key_map
from barnabas.storage.compaction.source_batches import SourceBatches
from barnabas.storage.compaction.transactions import CleanedTransactions


def clean(
    job: CleaningJob,
    disk: Disk,
    *,
    throttle: Callable[[int], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    on_cleaned: Callable[[CleanedSegment], None] = lambda _: None,
) -> CleaningResult:
    """One pass. ``throttle`` is called for every byte read or written and may wait; ``should_stop``
    is asked every few megabytes; ``on_cleaned`` gets every group when its files are durable, so
    that it can be swapped in while the next is cleaned.

    Raises ``Uncleanable``, ``CleaningStopped``, or ``OSError`` for the directory.
    """
    try:
        return _Cleaning(job, disk, throttle, should_stop).run(on_cleaned)
    except FileNotFoundError as gone:
        raise CleaningStopped(f"{gone.filename} does not exist any more") from gone


class _Cleaning:
    def __init__(self, job: CleaningJob, disk: Disk, throttle: Callable[[int], None], should_stop: Callable[[], bool]) -> None:
        self._job = job
        self._disk = disk
        self._throttle = throttle
        self._source = SourceBatches(disk, job.directory, throttle=throttle, should_stop=should_stop)
        self._stats = CleaningStats()

    def run(self, on_cleaned: Callable[[CleanedSegment], None]) -> CleaningResult:
        key_map = self._build_map()
        batch_filter = BatchFilter(self._job, key_map)
        cleaned = []
        for group in self._job.groups:
            # Groups behind the map's end would only be copied.
            sources = tuple(source for source in group if source.base_offset < key_map.end_offset)
            if sources:
                cleaned.append(self._clean_group(sources, batch_filter))
                on_cleaned(cleaned[-1])
        return CleaningResult(key_map.end_offset, tuple(cleaned), self._stats)

    # -- the map

    def _build_map(self) -> KeyMap:
        """Up to the end of the cleanable part, or to the first batch that does not fit."""
        key_map = new_key_map(self._job.first_dirty_offset, size_bytes_max=self._job.map_bytes_max)
        end_offset = self._job.end_offset
        for batch in self._committed():
            if not self._add(key_map, batch):
                end_offset = batch.header.base_offset
                break
        key_map.end_offset = end_offset
        self._stats.map_bytes = key_map.size_bytes
        return key_map

    def _committed(self) -> Iterator[Batch]:
        """The batches of the dirty part whose records count: no markers, and no aborted data."""
        start_offset = self._job.first_dirty_offset
        transactions = CleanedTransactions(self._job.aborted)
        for source in (each for group in self._job.groups for each in group):
            if source.next_offset <= start_offset:
                continue
            for batch in self._source.read(source, start_offset):
                self._stats.map_bytes_read += len(batch.data)
                if batch.header.control:
                    try:
                        transactions.end(*batch)
                    except ValueError as error:
                        raise self._unreadable(batch.header, error) from error
                elif not transactions.aborts(batch.header):
                    yield batch

    def _add(self, key_map: KeyMap, batch: Batch) -> bool:
        try:
            keyless = key_map.add(batch.header, body_of(batch.data, batch.header))
        except ValueError as error:
            raise self._unreadable(batch.header, error) from error
        self._stats.keyless_records += keyless or 0
        return keyless is not None

    # -- the groups

    def _clean_group(self, sources: tuple[SourceSegment, ...], batch_filter: BatchFilter) -> CleanedSegment:
        files = CleanedFiles(
            self._disk,
            self._job.directory,
            sources[0].base_offset,
            index_interval_bytes=self._job.index_interval_bytes,
            throttle=self._throttle,
        )
        try:
            if len(sources) == 1:
                files.begin_as_copy_of(sources[0].base_offset)
            for batch, ends_segment in _last_marked(batch for source in sources for batch in self._source.read(source)):
                try:
                    filtered = batch_filter.filter(batch, ends_segment=ends_segment)
                except ValueError as error:
                    raise self._unreadable(batch.header, error) from error
                self._write(files, batch, filtered)
            if files.differs:
                files.finish()
            else:
                files.discard()
        except BaseException:
            files.discard()
            raise
        return CleanedSegment(sources, files.size_bytes, files.next_offset, unchanged=not files.differs, truncations=self._job.truncations)

    def _write(self, files: CleanedFiles, batch: Batch, filtered: Filtered) -> None:
        stats, kept = self._stats, filtered.batch
        stats.bytes_read += len(batch.data)
        stats.records_read += batch.header.record_count
        if filtered.aborted is not None:
            files.append_aborted(filtered.aborted)
        if kept is not batch:
            files.differ()
        if kept is not None:
            files.append(kept)
            stats.bytes_kept += len(kept.data)
            stats.records_kept += kept.header.record_count

    def _unreadable(self, header: BatchHeader, error: ValueError) -> Uncleanable:
        return Uncleanable(f"{self._job.directory}: the batch of offsets {header.base_offset} to {header.last_offset}: {error}")


def _last_marked(batches: Iterator[Batch]) -> Iterator[tuple[Batch, bool]]:
    """Each item with a flag that marks the last."""
    held: Batch | None = None
    for batch in batches:
        if held is not None:
            yield held, False
        held = batch
    if held is not None:
        yield held, True
