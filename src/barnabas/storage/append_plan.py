"""Whether the next batch starts a new segment. Pure: the log follows this decision."""

from __future__ import annotations

from enum import Enum

from barnabas.storage import offset_index, time_index
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.segment import RELATIVE_OFFSET_MAX, Segment


class RollReason(Enum):
    SIZE = "the batch would make the segment larger than segment.bytes"
    AGE = "the segment is older than segment.ms, or than max.compaction.lag.ms where the topic is compacted"
    INDEX = "an index is full"
    OFFSETS = "the offset is too far from the segment's base offset for an index"


def roll_reason(
    active: Segment, settings: LogSettings, batch_bytes: int, last_offset: int, max_timestamp: int, now_ms: int
) -> RollReason | None:
    """Age is counted in the records' own time, from the first batch's timestamp, and by the clock
    only where there is none.
    """
    size_bytes = active.size_bytes
    if size_bytes > settings.segment_bytes - batch_bytes:
        # Also for an empty segment: then the batch alone is too big, and the log refuses it before
        # this call.
        return RollReason.SIZE
    if last_offset - active.base_offset > RELATIVE_OFFSET_MAX:
        return RollReason.OFFSETS
    if not size_bytes:
        return None
    first_timestamp = active.first_timestamp
    age_ms = max_timestamp - first_timestamp if first_timestamp >= 0 else now_ms - active.created_ms
    # The active segment cannot be compacted, so a bound on the compaction lag also bounds how long
    # a segment stays active.
    age_ms_max = min(settings.segment_ms, settings.max_compaction_lag_ms) if settings.compacts else settings.segment_ms
    if age_ms > age_ms_max - settings.segment_jitter_ms:
        return RollReason.AGE
    # The time index keeps its last slot for the entry that sealing writes.
    if active.bytes_since_entry > active.index_interval_bytes and (
        len(active.index) >= settings.index_bytes_max // offset_index.ENTRY_BYTES
        or len(active.time_index) >= settings.index_bytes_max // time_index.ENTRY_BYTES - 1
    ):
        return RollReason.INDEX
    return None


def indexes_have_room(active: Segment, settings: LogSettings, batches: int, size_bytes: int) -> bool:
    """For all entries that this many batches of ``size_bytes`` in total may need."""
    entries = min(batches, size_bytes // (active.index_interval_bytes + 1) + 1)
    return (
        len(active.index) + entries <= settings.index_bytes_max // offset_index.ENTRY_BYTES
        and len(active.time_index) + entries <= settings.index_bytes_max // time_index.ENTRY_BYTES - 1
    )
