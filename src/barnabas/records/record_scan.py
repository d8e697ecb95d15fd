"""Finding keys and records in a batch's body without building records, for code that must look at
every record of a log.

One pass with all numbers inlined: about half a microsecond a record in Python
(``docs/decisions/0009``), and a tenth of that where it is compiled (``docs/decisions/0021``). It
checks the facts that it relies on: each record lies inside the body, each key inside its record,
offset deltas rise, and the records fill the body exactly. Behind the key it only looks whether
there is a value.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.model.compiled import compiled
from barnabas.records.batch_header import HEADER_BYTES, RECORD_BYTES_MIN, BatchHeader
from barnabas.records.compression import decompress
from barnabas.records.record import MalformedRecord
from barnabas.wire.varint import MalformedVarint, read_uvarint, read_varlong, wrap_int64, write_uvarint, write_varint


class ScannedRecords(NamedTuple):
    """The records of one batch in parallel lists: keys, and offsets relative to the base offset of
    the batch.
    """

    keys: list[bytes]
    deltas: list[int]
    # Indexes of the few special records. A record without a key has an empty one above.
    tombstones: list[int]
    keyless: list[int]


def body_of(batch: Buffer, header: BatchHeader) -> Buffer:
    """The records of one whole batch, decompressed."""
    body = memoryview(batch)[HEADER_BYTES:]
    return decompress(header.codec, body) if header.codec else body


def scan_records(header: BatchHeader, body: Buffer) -> ScannedRecords:
    """Raises ``MalformedRecord`` when the body does not match the header."""
    return ScannedRecords(*_scanned(body, header.record_count, header.last_offset_delta))


@compiled
def _scanned(body: Buffer, count: int, last_offset_delta: int, /) -> tuple[list[bytes], list[int], list[int], list[int]]:
    # Bytes are faster to index than any other buffer. Nothing is copied if the body is of bytes.
    body = bytes(body)
    end = len(body)
    if count < 0 or count * RECORD_BYTES_MIN > end:
        raise MalformedRecord(f"{count} records cannot fit into {end} bytes")
    keys: list[bytes] = []
    deltas: list[int] = []  # still zig-zag
    tombstones: list[int] = []
    keyless: list[int] = []
    add_key, add_delta = keys.append, deltas.append
    position = 0
    try:
        for index in range(count):
            # Zig-zag numbers of one and two bytes are decoded in place: nearly all numbers have
            # that size.
            number = body[position]
            position += 1
            if number >= 0x80:
                more = body[position]
                if more < 0x80:
                    number += (more - 1) << 7
                    position += 1
                else:
                    number, position = read_uvarint(body, position - 1)
            if number & 1:
                raise MalformedRecord(f"record {index} of {count} has a length below zero")
            # When this is beyond the end, so is the next record, or the bytes that follow the last.
            stop = position + (number >> 1)
            position += 1  # attributes
            while body[position] >= 0x80:  # timestamp
                position += 1
            number = body[position + 1]
            position += 2
            if number >= 0x80:
                more = body[position]
                if more < 0x80:
                    number += (more - 1) << 7
                    position += 1
                else:
                    number, position = read_uvarint(body, position - 1)
            add_delta(number)
            number = body[position]
            position += 1
            if number >= 0x80:
                number, position = read_uvarint(body, position - 1)
            if number & 1:
                if number != 1:
                    raise MalformedRecord(f"record {index} of {count} has a key of length {-((number + 1) // 2)}")
                keyless.append(index)
                number = 0
            key_end = position + (number >> 1)
            if key_end >= stop:
                raise MalformedRecord(f"record {index} of {count} has a key of {number >> 1} bytes and ends before it")
            add_key(body[position:key_end])
            number = body[key_end]
            # Minus one, in one byte or in more than it needs.
            if number == 1 or (number == 0x81 and read_uvarint(body, key_end)[0] == 1):
                tombstones.append(index)
            position = stop
    except (IndexError, MalformedVarint) as error:
        raise MalformedRecord(f"a record is cut off: {error}") from error
    if position != end:
        raise MalformedRecord(f"the last of {count} records ends at {position} of {end} bytes")
    return keys, _offset_deltas(deltas, last_offset_delta), tombstones, keyless


def _offset_deltas(numbers: list[int], last_offset_delta: int) -> list[int]:
    count = len(numbers)
    if count == last_offset_delta + 1 and numbers == list(range(0, 2 * count, 2)):
        return list(range(count))
    before = -1
    for number in numbers:
        if number & 1 or number >> 1 <= before or number >> 1 > last_offset_delta:
            raise MalformedRecord(f"an offset delta of {number / 2:g} after {before} in a batch that ends at {last_offset_delta}")
        before = number >> 1
    return [number >> 1 for number in numbers]


@compiled
def record_bounds(body: Buffer, count: int, /) -> list[int]:
    """The position of each record, and the end of the last: only the lengths are read."""
    body = bytes(body)
    bounds: list[int] = []
    add = bounds.append
    position = 0
    try:
        for _ in range(count):
            add(position)
            number = body[position]
            if number < 0x80:
                position += 1 + (number >> 1)
            else:
                more = body[position + 1]
                if more < 0x80:
                    position += 2 + ((number + ((more - 1) << 7)) >> 1)
                else:
                    number, position = read_uvarint(body, position)
                    position += number >> 1
    except (IndexError, MalformedVarint) as error:
        raise MalformedRecord(f"a record is cut off: {error}") from error
    if position != len(body):
        raise MalformedRecord(f"{count} records end at {position} of {len(body)} bytes")
    add(position)
    return bounds


@compiled
def cut_records(body: Buffer, count: int, kept: list[int], known_max: int | None, /) -> tuple[bytes, int | None]:
    """The records at these rising indexes, byte for byte, and the largest of their timestamp
    deltas; at least one. No delta counts for more than ``known_max``, and without it, none is
    read.
    """
    body = bytes(body)
    bounds = record_bounds(body, count)
    pieces = []
    first = following = kept[0]
    for index in kept:
        if index != following:
            pieces.append(body[bounds[first] : bounds[following]])
            first = index
        following = index + 1
    pieces.append(body[bounds[first] : bounds[following]])
    largest = None if known_max is None else _timestamp_delta_max(body, [bounds[index] for index in kept], known_max)
    return b"".join(pieces), largest


def _timestamp_delta_max(body: bytes, starts: list[int], known_max: int) -> int:
    largest: int | None = None
    # From the end, because timestamps mostly rise: then the first look finds the largest possible.
    for position in reversed(starts):
        while body[position] >= 0x80:  # length
            position += 1
        number = body[position + 2]
        if number >= 0x80:
            more = body[position + 3]
            if more < 0x80:
                number += (more - 1) << 7
                delta = (number >> 1) ^ -(number & 1)
            else:
                delta, _ = read_varlong(body, position + 2)
        else:
            delta = (number >> 1) ^ -(number & 1)
        if largest is None or delta > largest:
            if delta >= known_max:
                return known_max
            largest = delta
    assert largest is not None
    return largest


def rebase_record(out: bytearray, record: Buffer, shift_ms: int) -> int:
    """Append a record with its timestamp delta raised by ``shift_ms`` and everything else
    unchanged; returns the new delta.
    """
    _, position = read_uvarint(record, 0)
    delta, rest = read_varlong(record, position + 1)
    # A delta is a number of 64 bits, and readers wrap its sum with the base timestamp round.
    delta = wrap_int64(delta + shift_ms)
    changed = bytearray(record[position : position + 1])
    write_varint(changed, delta)
    changed += record[rest:]
    write_uvarint(out, len(changed) << 1)
    out += changed
    return delta
