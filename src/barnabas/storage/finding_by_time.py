"""Finding records of a log by timestamp: the time indexes lead near, and the batches there are
opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barnabas.records.batch_header import read_header
from barnabas.records.record import Record, open_batch
from barnabas.storage.segment import Segment
from barnabas.storage.segment_list import SegmentList


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
        # The first such batch need not have the record: it may lie below the start.
        for position, header in segment.batches_at_or_after(timestamp, start_offset):
            record = _first_record(
                segment.read_batch(position, header),
                lambda record: record.offset >= start_offset and record.timestamp >= timestamp,
            )
            if record is not None:
                return TimestampOffset(record.timestamp, max(record.offset, start_offset), header.leader_epoch)
    return None


def first_of_largest(segments: SegmentList) -> TimestampOffset | None:
    """The record with the largest timestamp; of several, the first."""
    largest = max(segments, key=lambda segment: segment.max_timestamp)
    if largest.max_timestamp < 0:
        return None
    for position, header in largest.headers(_batch_position(largest, largest.offset_of_max_timestamp)):
        if header.max_timestamp == largest.max_timestamp:
            record = _first_record(largest.read_batch(position, header), lambda record: record.timestamp == largest.max_timestamp)
            if record is not None:
                return TimestampOffset(record.timestamp, record.offset, header.leader_epoch)
    return None


def _batch_position(segment: Segment, offset: int) -> int:
    location = segment.locate(offset)
    return location.position if location is not None else 0


def _first_record(batch: bytes, wanted: Callable[[Record], bool]) -> Record | None:
    """The first record that matches. Batches are accepted closed, so one may be unreadable; its
    first offset then stands for the record.
    """
    try:
        return next((record for record in open_batch(batch) if wanted(record)), None)
    except ValueError:
        header = read_header(batch)
        return Record(header.base_offset, header.max_timestamp, None, None)
