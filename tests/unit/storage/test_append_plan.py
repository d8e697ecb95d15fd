"""When the next batch starts a new segment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.storage.append_plan import RollReason, roll_reason
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.segment import RELATIVE_OFFSET_MAX, Segment
from tests.unit.storage.logs import BATCH_BYTES, DIRECTORY, NOW_MS, data, new_disk
from tests.unit.storage.test_segment import put

ROOMY = LogSettings(index_interval_bytes=0)


def reason(
    segment: Segment, settings: LogSettings, *, last_offset: int = 5, timestamp: int = NOW_MS, now_ms: int = NOW_MS
) -> RollReason | None:
    return roll_reason(segment, settings, BATCH_BYTES, last_offset, timestamp, now_ms)


def segment_with(batches: int, *, timestamp: int = NOW_MS) -> Segment:
    segment = Segment.create(new_disk(), DIRECTORY, 0, index_interval_bytes=0, created_ms=NOW_MS)
    for slot in range(batches):
        put(segment, data(timestamp=timestamp + slot if timestamp >= 0 else timestamp))
    return segment


def test_a_small_young_segment_does_not_roll() -> None:
    assert reason(segment_with(3), ROOMY) is None


def test_the_size_includes_the_next_batch() -> None:
    segment = segment_with(3)
    assert reason(segment, replace(ROOMY, segment_bytes=4 * BATCH_BYTES)) is None
    assert reason(segment, replace(ROOMY, segment_bytes=4 * BATCH_BYTES - 1)) is RollReason.SIZE


def test_offsets_must_stay_within_reach_of_the_base() -> None:
    assert reason(segment_with(1), ROOMY, last_offset=RELATIVE_OFFSET_MAX) is None
    assert reason(segment_with(1), ROOMY, last_offset=RELATIVE_OFFSET_MAX + 1) is RollReason.OFFSETS


def test_age_is_counted_in_the_records_own_time_from_the_first_batch() -> None:
    segment = segment_with(3)
    aged = replace(ROOMY, segment_ms=1000)
    assert reason(segment, aged, timestamp=NOW_MS + 1000, now_ms=NOW_MS + 10**9) is None
    assert reason(segment, aged, timestamp=NOW_MS + 1001, now_ms=NOW_MS) is RollReason.AGE
    assert reason(segment, replace(aged, segment_jitter_ms=1), timestamp=NOW_MS + 1000) is RollReason.AGE


def test_without_timestamps_age_is_counted_by_the_clock() -> None:
    segment = segment_with(1, timestamp=-1)
    aged = replace(ROOMY, segment_ms=1000)
    assert reason(segment, aged, timestamp=-1, now_ms=NOW_MS + 1000) is None
    assert reason(segment, aged, timestamp=-1, now_ms=NOW_MS + 1001) is RollReason.AGE


def test_a_compacted_topic_rolls_in_time_for_compaction() -> None:
    segment = segment_with(1)
    waiting = replace(ROOMY, segment_ms=10_000, max_compaction_lag_ms=1000)
    assert reason(segment, waiting, timestamp=NOW_MS + 1001) is None
    assert reason(segment, replace(waiting, compacts=True), timestamp=NOW_MS + 1000) is None
    assert reason(segment, replace(waiting, compacts=True), timestamp=NOW_MS + 1001) is RollReason.AGE


@pytest.mark.parametrize("index_bytes", [40, 47, 48, 60, 800])
def test_a_segment_rolls_when_its_index_is_full(index_bytes: int) -> None:
    """Both indexes have an entry for every batch but the first here; the time index keeps one slot
    for the final entry.
    """
    settings = replace(ROOMY, index_bytes_max=index_bytes)
    full_at = min(index_bytes // 8, index_bytes // 12 - 1)
    assert reason(segment_with(full_at), settings) is None
    assert reason(segment_with(full_at + 1), settings) is RollReason.INDEX


def test_an_empty_segment_is_never_too_old_nor_its_index_full() -> None:
    assert reason(segment_with(0), replace(ROOMY, segment_ms=0, index_bytes_max=4), now_ms=NOW_MS + 10**9) is None
