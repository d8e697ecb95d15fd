"""A batch with fewer records, which the cleaner writes in place of one that lost some.

Offsets, sequence numbers, producer and leader epoch stay, and so does the last offset of the batch,
even when its last record is removed.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    seal,
    write_header,
)
from barnabas.records.compression import Codec, compress
from barnabas.records.record_scan import cut_records, rebase_record, record_bounds
from barnabas.wire.varint import wrap_int64

_KINDS_OF_BATCH = LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT


class Batch(NamedTuple):
    header: BatchHeader
    data: Buffer


def emptied(header: BatchHeader) -> Batch:
    """The header alone, which still holds the producer and its sequence numbers."""
    return _assembled(
        header._replace(attributes=header.attributes & _KINDS_OF_BATCH, base_timestamp=NO_TIMESTAMP, record_count=0),
        b"",
        header.max_timestamp,
    )


def reduced(header: BatchHeader, body: Buffer, kept: list[int]) -> Batch:
    """Only the records at these indexes, byte for byte; at least one. ``body`` is not compressed;
    the result has the codec of the original.
    """
    known_max = None if header.attributes & LOG_APPEND_TIME_BIT else header.max_timestamp - header.base_timestamp
    records, largest = cut_records(body, header.record_count, kept, known_max)
    max_timestamp = header.max_timestamp if largest is None else wrap_int64(header.base_timestamp + largest)
    return _assembled(header._replace(record_count=len(kept)), records, max_timestamp)


def with_delete_horizon(header: BatchHeader, body: Buffer, kept: list[int], horizon_ms: int) -> Batch:
    """Like :func:`reduced`, with a delete horizon: from ``horizon_ms`` on, tombstones and markers
    may be removed too.

    The horizon takes the place of the base timestamp, to which the records' timestamp deltas are
    relative.
    """
    bounds = record_bounds(body, header.record_count)
    shift_ms = header.base_timestamp - horizon_ms
    rebased = bytearray()
    largest = max(rebase_record(rebased, body[bounds[index] : bounds[index + 1]], shift_ms) for index in kept)
    max_timestamp = header.max_timestamp
    if not header.attributes & LOG_APPEND_TIME_BIT:
        # A producer may have given a record a later time than its batch.
        max_timestamp = min(max_timestamp, wrap_int64(horizon_ms + largest))
    return _assembled(
        header._replace(attributes=header.attributes | DELETE_HORIZON_BIT, base_timestamp=horizon_ms, record_count=len(kept)),
        rebased,
        max_timestamp,
    )


def _assembled(header: BatchHeader, body: Buffer, max_timestamp: int) -> Batch:
    if header.codec:
        body = compress(Codec(header.codec), body)
    data = bytearray(HEADER_BYTES)
    data += body
    header = header._replace(batch_length=len(data) - LENGTH_OVERHEAD_BYTES, max_timestamp=max_timestamp)
    write_header(data, header)
    seal(data)
    return Batch(header, data)
