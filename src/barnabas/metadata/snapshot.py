"""Snapshots of the metadata log: an image encoded as batches, and decoded again.

A snapshot is named after the offset that follows its last record and that record's epoch. It begins
with a control batch (the header, with the timestamp of the last record) and ends with another (the
footer); a file without a footer is incomplete. Offsets inside count from zero and have no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.records.batch_builder import build_batch
from barnabas.records.batches import check_crc, walk
from barnabas.records.control_batch import ControlType, build_control_batch, read_control_type
from barnabas.records.record import Record, open_batch
from barnabas.wire.compiler import decode, encode
from barnabas.wire.embedded.control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from barnabas.wire.metadata_records import MetadataRecord, decode_metadata_record, encode_metadata_record

CHECKPOINT_SUFFIX = ".checkpoint"
PART_SUFFIX = ".checkpoint.part"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
# Small enough to hold twice in memory, large enough that a cluster with thousands of partitions
# needs few.
BATCH_RECORDS_MAX = 2000

_NAME = re.compile(r"^(\d{20})-(\d{10})\.checkpoint$")


class SnapshotId(NamedTuple):
    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{CHECKPOINT_SUFFIX}"


class SnapshotDamaged(ValueError):
    pass


def parse_snapshot_name(name: str) -> SnapshotId | None:
    found = _NAME.match(name)
    return SnapshotId(int(found[1]), int(found[2])) if found else None


def encode_snapshot(
    records: Sequence[MetadataRecord],
    *,
    epoch: int,
    last_contained_timestamp: int,
    timestamp: int,
    controls: Sequence[tuple[ControlType, bytes]] = (),
) -> Iterator[bytearray]:
    """The batches of a snapshot, in order. ``controls`` are the quorum's own control records; they
    follow the header in its batch.
    """
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_timestamp)
    first = [(ControlType.SNAPSHOT_HEADER, encode(header, 0)), *controls]
    yield build_control_batch(first, base_offset=0, timestamp=timestamp, leader_epoch=epoch)
    offset = len(first)
    for start in range(0, len(records), BATCH_RECORDS_MAX):
        chunk = records[start : start + BATCH_RECORDS_MAX]
        yield build_batch(
            [Record(offset + index, timestamp, None, encode_metadata_record(record)) for index, record in enumerate(chunk)],
            base_offset=offset,
            leader_epoch=epoch,
        )
        offset += len(chunk)
    footer = SnapshotFooterRecord(version=0)
    yield build_control_batch(
        [(ControlType.SNAPSHOT_FOOTER, encode(footer, 0))], base_offset=offset, timestamp=timestamp, leader_epoch=epoch
    )


def snapshot_time(data: Buffer) -> int:
    """The timestamp of the last log record that the snapshot contains; reads only the header."""
    first = next(open_batch(data))
    assert first.value is not None
    return decode(SnapshotHeaderRecord, 0, first.value)[0].last_contained_log_timestamp


def decode_snapshot(data: Buffer) -> tuple[list[MetadataRecord], int]:
    """The records, and the timestamp of the last log record among them. Raises ``SnapshotDamaged``
    for a corrupt or incomplete snapshot.
    """
    records: list[MetadataRecord] = []
    last_contained_timestamp: int | None = None
    finished = False
    view = memoryview(data)
    try:
        for position, header in walk(view):
            batch = view[position : position + header.size_bytes]
            check_crc(batch, header)
            for record in open_batch(batch):
                if record.value is None:
                    raise SnapshotDamaged("a record without a value")
                if not header.control:
                    if last_contained_timestamp is None or finished:
                        raise SnapshotDamaged("records outside of header and footer")
                    records.append(decode_metadata_record(record.value))
                    continue
                kind = read_control_type(record)
                if kind == ControlType.SNAPSHOT_HEADER:
                    last_contained_timestamp = decode(SnapshotHeaderRecord, 0, record.value)[0].last_contained_log_timestamp
                finished = kind == ControlType.SNAPSHOT_FOOTER
    except ValueError as error:
        raise SnapshotDamaged(str(error)) from error
    if last_contained_timestamp is None or not finished:
        raise SnapshotDamaged("a snapshot begins with a header and ends with a footer")
    return records, last_contained_timestamp
