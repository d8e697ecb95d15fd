"""Single records, for the few readers that must open a batch: consumers of internal topics, the
cleaner, tools, and validation that depends on keys.

A record is a length and then, all numbers zig-zag: attributes, timestamp delta, offset delta, key,
value, headers. Reading checks that every part lies inside its record and that the records fill the
batch exactly. When a batch passes its checksum and fails here, its producer has built it
incorrectly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.model.compiled import compiled
from barnabas.records.batch_header import HEADER_BYTES, LOG_APPEND_TIME_BIT, RECORD_BYTES_MIN, BatchHeader, read_header
from barnabas.records.compression import DECOMPRESSED_BYTES_MAX, decompress
from barnabas.wire.varint import INT64_LIMIT, MalformedVarint, read_varint, read_varlong, wrap_int64, write_varint

Header = tuple[str, bytes | None]


class MalformedRecord(ValueError):
    """A record with parts that do not fit into it."""


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def open_batch(batch: Buffer, size_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of one whole batch, decompressed. Raises ``MalformedRecord`` or
    ``DecompressionFailed`` for an unreadable batch.
    """
    header = read_header(batch)
    body = decompress(header.codec, batch[HEADER_BYTES : header.size_bytes], size_bytes_max)
    return read_records(header, body)


def read_records(header: BatchHeader, body: Buffer, from_offset: int = 0) -> Iterator[Record]:
    """Records before ``from_offset`` may be left out: where every offset of the batch has a record,
    they are passed over by their lengths alone."""
    if header.record_count < 0 or header.record_count * RECORD_BYTES_MIN > len(body):
        raise MalformedRecord(f"{header.record_count} records cannot fit into {len(body)} bytes")
    position = passed = 0
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_BIT else None
    if header.last_offset_delta == header.record_count - 1 and from_offset > header.base_offset:
        passed = min(from_offset - header.base_offset, header.record_count)
        position = _position_after(body, passed)
    for index in range(passed, header.record_count):
        try:
            record, position = _read_record(body, position, header.base_offset, header.base_timestamp, append_time, Record)
        except (IndexError, MalformedVarint) as error:
            raise MalformedRecord(f"record {index} of {header.record_count} is cut off: {error}") from error
        yield record
    if position != len(body):
        raise MalformedRecord(f"{len(body) - position} bytes remain after the last of {header.record_count} records")


def _position_after(body: Buffer, records: int) -> int:
    position = 0
    for index in range(records):
        try:
            length, position = read_varint(body, position)
        except (IndexError, MalformedVarint) as error:
            raise MalformedRecord(f"record {index} is cut off: {error}") from error
        if length < RECORD_BYTES_MIN - 1 or position + length > len(body):
            raise MalformedRecord(f"record of {length} bytes where {len(body) - position} remain")
        position += length
    return position


@compiled
def _read_record(
    body: Buffer, position: int, base_offset: int, base_timestamp: int, append_time: int | None, record_type: type[Record], /
) -> tuple[Record, int]:
    """A record and its end. ``record_type`` is for the compiled twin, which knows no class of
    ours.
    """
    length, position = read_varint(body, position)
    end = position + length
    if length < RECORD_BYTES_MIN - 1 or end > len(body):
        raise MalformedRecord(f"record of {length} bytes where {len(body) - position} remain")
    position += 1  # skip the attributes: none are defined, and unknown ones must not matter
    timestamp_delta, position = read_varlong(body, position)
    offset_delta, position = read_varint(body, position)
    key, position = _read_bytes(body, position, end, "key")
    value, position = _read_bytes(body, position, end, "value")
    header_count, position = read_varint(body, position)
    if header_count < 0 or header_count * 2 > end - position:
        raise MalformedRecord(f"{header_count} headers where {end - position} bytes remain")
    headers: list[Header] = []
    for _ in range(header_count):
        name, position = _read_bytes(body, position, end, "header key")
        if name is None:
            raise MalformedRecord("header key is null")
        header_value, position = _read_bytes(body, position, end, "header value")
        # Java's clients decode invalid UTF-8 with replacement characters, so it is not an error.
        headers.append((name.decode(errors="replace"), header_value))
    if position != end:
        raise MalformedRecord(f"record of {length} bytes ends {end - position} bytes before its end")
    timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
    if not -INT64_LIMIT <= timestamp < INT64_LIMIT:
        # The timestamps in a closed batch are unchecked. One of more than 64 bits would fit into no
        # response and no index; Java's sum wraps round as well.
        timestamp = wrap_int64(timestamp)
    return record_type(base_offset + offset_delta, timestamp, key, value, tuple(headers)), end


def _read_bytes(body: Buffer, position: int, end: int, what: str) -> tuple[bytes | None, int]:
    length, position = read_varint(body, position)
    if length < 0:
        if length != -1:
            raise MalformedRecord(f"{what} has length {length}")
        return None, position
    if length > end - position:
        raise MalformedRecord(f"{what} of {length} bytes where {end - position} remain in the record")
    return bytes(body[position : position + length]), position + length


def write_record(out: bytearray, *, offset_delta: int, timestamp_delta: int, record: Record) -> None:
    """Append one record; only key, value and headers are taken from ``record``."""
    body = bytearray(1)
    write_varint(body, timestamp_delta)
    write_varint(body, offset_delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for name, value in record.headers:
        _write_bytes(body, name.encode())
        _write_bytes(body, value)
    write_varint(out, len(body))
    out += body


def _write_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        out.append(0x01)  # minus one in zig-zag
    else:
        write_varint(out, len(value))
        out += value
