"""Cleaning: the key map is built, then group after group of segments is written anew without what is no longer needed."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.env.disk import Disk
from barnabas.storage.compaction.cleaning_job import CleanedSegment, CleaningJob, CleaningResult


def clean(
    job: CleaningJob,
    disk: Disk,
    *,
    throttle: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    on_cleaned: Callable[[CleanedSegment], None] | None = None,
) -> CleaningResult:
    """One pass. ``throttle`` hears of every byte read or written and may wait; ``should_stop`` is asked between batches;
    ``on_cleaned`` gets every group when its files are durable, so that it can be swapped in while the next is cleaned.

    ``Uncleanable``, ``CleaningStopped``, or ``OSError`` for the directory.
    """
    raise NotImplementedError
