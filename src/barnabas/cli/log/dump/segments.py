"""``.log`` and ``.checkpoint``: batches one after the other, and the records in them.

Headers are trusted as far as needed to find the next batch. A batch that is opened, for its records
or to be checked, has its checksum verified first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from barnabas.cli.log.dump.entries import Entry, at_position
from barnabas.cli.log.dump.named_records import NamedRecord, Vocabulary, read_control_record, reader_of
from barnabas.env.disk import Disk, DiskFile
from barnabas.records.batch_header import DELETE_HORIZON_BIT, HEADER_BYTES, BatchHeader, TimestampType, read_header
from barnabas.records.batches import CorruptBatch, check_crc, check_shape
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType
from barnabas.records.record import Record, open_batch

READ_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Depth:
    """How far to look into batches."""

    records: bool = False
    check: bool = False
    vocabulary: Vocabulary = Vocabulary.NONE

    @property
    def opens(self) -> bool:
        return self.records or self.check


def dump_segment(disk: Disk, path: str, base_offset: int | None, depth: Depth) -> Iterator[Entry]:
    """A partition's batches, with offsets that rise from the one in the file's name."""
    next_offset = base_offset or 0
    file = disk.open(path)
    try:
        for batch in read_batches(file):
            if batch.header.base_offset < next_offset:
                raise at_position(
                    batch.position, f"a batch begins at offset {batch.header.base_offset} where {next_offset} or more must follow"
                )
            next_offset = batch.header.last_offset + 1
            yield from _dump_batch(batch, depth)
    finally:
        file.close()


def dump_snapshot(disk: Disk, path: str, depth: Depth) -> Iterator[Entry]:
    """A snapshot of the metadata log, always with its records. A complete one has a header record
    and a footer record."""
    depth = replace(depth, records=True)
    file = disk.open(path)
    last: Entry | None = None
    try:
        for batch in read_batches(file):
            for last in _dump_batch(batch, depth):
                yield last
        if last is None or last.fields["type"] != ControlType.SNAPSHOT_FOOTER.name:
            raise at_position(file.size_bytes(), "it ends without the footer that a finished snapshot has")
    finally:
        file.close()


@dataclass(frozen=True, slots=True)
class Batch:
    position: int
    header: BatchHeader
    read: Callable[[], bytes]


def read_batches(file: DiskFile, position: int = 0) -> Iterator[Batch]:
    """The batches of a file from a position on; raises ``Damage`` where no further batch can be
    found."""
    size = file.size_bytes()
    window = _Window(file)
    while position < size:
        head = window.read(position, HEADER_BYTES)
        if len(head) < HEADER_BYTES:
            raise at_position(position, f"{len(head)} bytes are left, too few for a batch")
        header = read_header(head)
        try:
            check_shape(header, position)
        except CorruptBatch as error:
            raise at_position(position, f"the {str(error).replace(f' at position {position}', '', 1)}") from error
        if position + header.size_bytes > size:
            raise at_position(position, f"a batch of {header.size_bytes} bytes is cut off after {size - position}")
        yield Batch(position, header, lambda: window.read(position, header.size_bytes))  # noqa: B023 - used before the next round
        position += header.size_bytes


class _Window:
    """The part of a file that was read last: batches are small, and a read for each header would
    take most of the time."""

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        self._start = 0
        self._data = b""

    def read(self, position: int, size_bytes: int) -> bytes:
        offset = position - self._start
        if offset < 0 or offset + size_bytes > len(self._data):
            self._start, offset = position, 0
            self._data = self._file.read_at(position, max(READ_BYTES, size_bytes))
        return self._data[offset : offset + size_bytes]


def _dump_batch(batch: Batch, depth: Depth) -> Iterator[Entry]:
    # Read a batch to its end before showing any of it, so that a damaged one is not shown as good.
    inside = _open(batch, depth) if depth.opens else []
    yield Entry("batch", _batch_fields(batch.position, batch.header))
    yield from inside


def _open(batch: Batch, depth: Depth) -> list[Entry]:
    header = batch.header
    data = batch.read()
    try:
        check_crc(data, header)
        records = list(open_batch(data))
        if depth.check:
            check_records(header, records)
        if not depth.records:
            return []
        reader = read_control_record if header.control else reader_of(depth.vocabulary)
        return [_record_entry(record, reader, control=header.control) for record in records]
    except ValueError as error:
        raise at_position(batch.position, str(error)) from error


def check_records(header: BatchHeader, records: list[Record]) -> None:
    """Compaction removes records, so offsets may have gaps and the last one may be missing; they
    still rise."""
    previous = header.base_offset - 1
    for record in records:
        if not previous < record.offset <= header.last_offset:
            raise ValueError(
                f"record {record.offset} follows {previous} in a batch of offsets {header.base_offset} to {header.last_offset}"
            )
        previous = record.offset
    if records and header.timestamp_type is TimestampType.CREATE_TIME:
        newest = max(record.timestamp for record in records)
        if newest > header.max_timestamp:
            raise ValueError(f"a record has timestamp {newest}, but the batch header's maximum is {header.max_timestamp}")


def _batch_fields(position: int, header: BatchHeader) -> dict[str, Any]:
    return {
        "position": position,
        "size_bytes": header.size_bytes,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "codec": Codec(header.codec).name.lower() if header.codec in Codec._value2member_map_ else f"unknown-{header.codec}",
        "timestamp_type": "LogAppendTime" if header.timestamp_type is TimestampType.LOG_APPEND_TIME else "CreateTime",
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "delete_horizon": header.base_timestamp if header.attributes & DELETE_HORIZON_BIT else None,
        "transactional": header.transactional,
        "control": header.control,
        "magic": header.magic,
        "crc": header.crc,
    }


def _record_entry(record: Record, reader: Callable[[Record], NamedRecord] | None, *, control: bool) -> Entry:
    place = {"offset": record.offset, "timestamp": record.timestamp}
    if reader is None:
        headers = [{"name": name, "value": value} for name, value in record.headers]
        return Entry("record", {**place, "key": record.key, "value": record.value, "headers": headers}, depth=1)
    name, fields, tombstone = reader(record)
    mark = {"tombstone": True} if tombstone else {}
    return Entry("control_record" if control else "named_record", {**place, "type": name, **mark, "fields": fields}, depth=1)
