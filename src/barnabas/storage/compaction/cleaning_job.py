"""What a cleaning needs to know and what it tells: plain data, because the work is done in another process.

One job is one pass over a log, from its first segment to where the key map ends. The groups are decided by the plan before the map is
built; where the map ends early for want of memory, the groups behind are left alone and the next pass goes on from there.

The parts of a pass cannot be separate jobs: a transaction may begin in one group and end in another, and whether its marker can go is known
only to who has seen its batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.storage.transaction_index import AbortedTransaction


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A sealed segment as it was when the job was made; its identity, when the result comes home."""

    base_offset: int
    next_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LastOfProducer:
    """What must stay for an active producer: the batch that ends at ``data_offset``, or, where its epoch has no data yet, the markers of
    its epoch."""

    epoch: int
    data_offset: int | None


@dataclass(frozen=True, slots=True)
class CleaningJob:
    directory: str
    # Consecutive segments from the first of the log on; each group becomes one segment.
    groups: tuple[tuple[SourceSegment, ...], ...]
    # Below it everything is clean; the key map begins here.
    first_dirty_offset: int
    # The first uncleanable offset: where the last group ends and a segment begins that is left alone.
    end_offset: int
    # Those with records below the end, wherever their markers are: Log.aborted_transactions(first base offset, end offset).
    aborted: tuple[AbortedTransaction, ...]
    producers: Mapping[int, LastOfProducer]
    now_ms: int
    delete_retention_ms: int
    # log.cleaner.dedupe.buffer.size for one cleaner, times its load factor.
    map_bytes_max: int
    index_interval_bytes: int
    # Log.truncations when the job was made. A log that is cut meanwhile may have lost what made older records superfluous.
    truncations: int = 0


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """One group's outcome, on disk as ``.cleaned`` files that are durable; ready for the swap.

    ``unchanged`` where one segment would have become itself: then there are no files and nothing is to be swapped.
    """

    sources: tuple[SourceSegment, ...]
    size_bytes: int
    next_offset: int
    unchanged: bool = False
    truncations: int = 0  # the job's

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
    keyless_records: int = 0  # dropped: a compacted topic cannot keep what has no key


@dataclass(frozen=True, slots=True)
class CleaningResult:
    # The next pass's first dirty offset. Below the job's end where the map was full.
    cleaned_to: int
    segments: tuple[CleanedSegment, ...]
    stats: CleaningStats = field(default_factory=CleaningStats)


class Uncleanable(ValueError):
    """A batch of the log cannot be read. Nothing was changed; the partition is to be marked and left alone until somebody looks."""


class CleaningStopped(Exception):
    """Somebody asked to stop. What had been written for the group under way is removed."""
