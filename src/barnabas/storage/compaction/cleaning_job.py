"""The input and the output of a cleaning: plain data, because the work runs in another process.

One job is one pass over a log, from its first segment to the end of the key map. The plan decides
the groups before the map is built; where the map ends early for lack of memory, the later groups
stay as they are and the next pass continues from there.

The parts of a pass cannot be separate jobs: a transaction may begin in one group and end in
another, and only a reader of all its batches knows whether its marker can be removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from barnabas.model.dataclass import dataclass
from barnabas.storage.transaction_index import AbortedTransaction


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A sealed segment as it was when the job was made. The swap compares it with the log's segment
    by these fields.
    """

    base_offset: int
    next_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LastOfProducer:
    """The batches to keep for an active producer: the batch that ends at ``data_offset``, or, where
    its epoch has no data yet, the markers of its epoch.
    """

    epoch: int
    data_offset: int | None


@dataclass(frozen=True, slots=True)
class CleaningJob:
    directory: str
    # Consecutive segments from the first of the log on; each group becomes one segment.
    groups: tuple[tuple[SourceSegment, ...], ...]
    # Everything below it is clean; the key map begins here.
    first_dirty_offset: int
    # The first uncleanable offset: the end of the last group, and the start of a segment that stays
    # as it is.
    end_offset: int
    # All aborted transactions with records below the end, wherever their markers are:
    # Log.aborted_transactions(first base offset, end offset).
    aborted: tuple[AbortedTransaction, ...]
    producers: Mapping[int, LastOfProducer]
    now_ms: int
    delete_retention_ms: int
    # log.cleaner.dedupe.buffer.size for one cleaner, times its load factor.
    map_bytes_max: int
    index_interval_bytes: int
    # Log.truncations when the job was made. A log that was truncated since may have lost the
    # records that superseded older ones.
    truncations: int = 0


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """The outcome for one group: durable ``.cleaned`` files, ready for the swap.

    ``unchanged`` when one segment would be replaced by itself: then there are no files and there is
    no swap.
    """

    sources: tuple[SourceSegment, ...]
    size_bytes: int
    next_offset: int
    unchanged: bool = False
    truncations: int = 0  # of the job

    @property
    def base_offset(self) -> int:
        return self.sources[0].base_offset


@dataclass(slots=True)
class CleaningStats:
    map_bytes_read: int = 0
    map_bytes: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0
    keyless_records: int = 0  # dropped: a compacted topic cannot keep records without a key


@dataclass(frozen=True, slots=True)
class CleaningResult:
    # The next pass's first dirty offset. Below the job's end when the map was full.
    cleaned_to: int
    segments: tuple[CleanedSegment, ...]
    stats: CleaningStats = field(default_factory=CleaningStats)


class Uncleanable(ValueError):
    """A batch of the log cannot be read. Nothing was changed; the partition is marked and not
    cleaned again until an operator repairs it.
    """


class CleaningStopped(Exception):
    """The pass was asked to stop. The files of the group in progress are removed."""
