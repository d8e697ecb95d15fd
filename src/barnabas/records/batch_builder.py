"""Building batches: for records that Barnabas writes itself, for recompression, for control batches
and snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.records.batch_header import (
    CONTROL_BIT,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    seal,
    write_header,
    write_plain_header,
)
from barnabas.records.compression import Codec, compress
from barnabas.records.record import Record, write_record


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """One sealed batch. Offsets of the records must rise from ``base_offset``; with
    ``LOG_APPEND_TIME`` the last record's timestamp applies to all.
    """
    body = bytearray()
    count = 0
    last_offset = base_offset
    base_timestamp = max_timestamp = NO_TIMESTAMP
    for record in records:
        if count == 0:
            base_timestamp = record.timestamp
        assert record.offset >= last_offset or count == 0, f"offset {record.offset} after {last_offset}"
        last_offset = record.offset
        max_timestamp = max(max_timestamp, record.timestamp)
        write_record(body, offset_delta=record.offset - base_offset, timestamp_delta=record.timestamp - base_timestamp, record=record)
        count += 1
    if codec is not Codec.NONE:
        body = bytearray(compress(codec, body, level))
    attributes = (
        int(codec)
        | (LOG_APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
    )
    batch = bytearray(HEADER_BYTES)
    batch += body
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=len(batch) - LENGTH_OVERHEAD_BYTES,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=count,
    )
    write_header(batch, header)
    seal(batch)
    return batch


def join_records(encoded: Sequence[bytearray], *, timestamp: int, base_sequence: int = NO_SEQUENCE) -> bytearray:
    """One sealed batch of records that are already encoded: uncompressed, with the offset deltas 0,
    1, 2 and so on, and all of the time ``timestamp``.
    """
    batch = bytearray(HEADER_BYTES)
    for each in encoded:
        batch += each
    write_plain_header(batch, timestamp=timestamp, base_sequence=base_sequence, record_count=len(encoded))
    seal(batch)
    return batch
