"""Finding records of a log by timestamp: the time indexes lead near, and the batches there are
opened.

Batches are accepted closed, so a producer may have given a batch a later time than any of its
records, or made it unreadable. The first offset of such a batch stands for the record that is
missing: consumers then begin too early rather than too late, and one search opens two batches of a
segment at most, however many of this kind there are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import BatchHeader
from barnabas.records.record import Record, open_batch
from barnabas.storage.segment import Segment
from barnabas.storage.segment_list import SegmentList

# Far more than producers put into one batch. The event loop opens the records; a few kilobytes may
# hold millions of them.
SEARCHED_RECORDS_MAX = 100_000


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def first_at_or_after(segments: SegmentList, timestamp: int, *, start_offset: int) -> TimestampOffset | None:
    """The first record at or above ``start_offset`` whose timestamp is at or after
    ``timestamp``.
    """
    for segment in segments:
        if segment.next_offset <= start_offset and segment is not segments.active:
            continue
        for position, header in segment.batches_at_or_after(timestamp, start_offset):
            found = first_in_batch(segment.read_batch(position, header), header, timestamp, start_offset)
            if found is not None:
                return found
    return None


def first_in_batch(batch: Buffer, header: BatchHeader, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The same in a batch that claims a time at or after ``timestamp``; None if it was the time of
    a record below ``start_offset``, or of one that compaction removed."""
    record = _first_record(batch, header, lambda record: record.offset >= start_offset and record.timestamp >= timestamp)
    if record is not None:
        return TimestampOffset(record.timestamp, max(record.offset, start_offset), header.leader_epoch)
    if header.record_count and header.base_offset >= start_offset:
        return TimestampOffset(header.max_timestamp, header.base_offset, header.leader_epoch)
    return None


def first_of_largest(segments: SegmentList) -> TimestampOffset | None:
    """The record with the largest timestamp; of several, the first."""
    largest = max(segments, key=lambda segment: segment.max_timestamp)
    if largest.max_timestamp < 0:
        return None
    for position, header in largest.headers(_batch_position(largest, largest.offset_of_max_timestamp)):
        if header.max_timestamp == largest.max_timestamp and header.record_count:
            batch = largest.read_batch(position, header)
            record = _first_record(batch, header, lambda record: record.timestamp == largest.max_timestamp)
            offset = header.base_offset if record is None else record.offset
            return TimestampOffset(header.max_timestamp, offset, header.leader_epoch)
    return None


def _batch_position(segment: Segment, offset: int) -> int:
    location = segment.locate(offset)
    return location.position if location is not None else 0


def _first_record(batch: Buffer, header: BatchHeader, wanted: Callable[[Record], bool]) -> Record | None:
    """The first record that matches. A batch that is unreadable, or has too many records before
    that one, counts as its first offset.
    """
    try:
        found = next((record for record in islice(open_batch(batch), SEARCHED_RECORDS_MAX) if wanted(record)), None)
    except ValueError:
        found = Record(header.base_offset, header.max_timestamp, None, None)
    if found is None and header.record_count > SEARCHED_RECORDS_MAX:
        found = Record(header.base_offset, header.max_timestamp, None, None)
    return found
