"""Stamps: the bytes by which a record names the schema of its key or value.

=================  =================================================================================
``00`` and 4 bytes  an id, in front of the payload
``01`` and 16       a GUID, in front of the payload, or in the header ``__key_schema_id`` or
                    ``__value_schema_id``
empty               the record names no schema
=================  =================================================================================

A header counts before the bytes of the key or value, as in Confluent's deserializers. A key or
value that is null needs no schema: a tombstone has nothing to describe.

:func:`scan_stamps` finds the *different* stamps of a batch in one pass with all numbers inlined,
0.7 us a record, or a tenth of that for similar records; nearly every batch has one stamp.
:func:`stamp_of` looks at one record that is open already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.records.batch_header import RECORD_BYTES_MIN
from barnabas.records.record import Header, MalformedRecord
from barnabas.schema_validation.core.uniform_runs import NUMBERS_BYTES_MAX, RUN_RECORDS_MIN, RUNS_MAX, run_of
from barnabas.wire.varint import MalformedVarint, read_uvarint, read_varint

Stamp = bytes
# Buffers with fast indexes; those of a memoryview take a third longer.
Indexed = bytes | bytearray

UNSTAMPED: Final[Stamp] = b""
KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"
_KEY_HEADER_BYTES: Final = KEY_HEADER.encode()
_VALUE_HEADER_BYTES: Final = VALUE_HEADER.encode()

_ID_MAGIC: Final = 0
_GUID_MAGIC: Final = 1
_ID_BYTES: Final = 5
_GUID_BYTES: Final = 17
# In zig-zag, as in the bytes.
_NULL: Final = 1
_ANY_NUMBER: Final = 2**31


class Stamps(NamedTuple):
    """The different stamps of one batch. Both are empty for a part that is not asked for."""

    keys: set[Stamp]
    values: set[Stamp]


def stamp_at(body: Indexed, start: int, stop: int) -> Stamp:
    """The stamp in front of the payload in ``body[start:stop]``."""
    size = stop - start
    if size >= _ID_BYTES and body[start] == _ID_MAGIC:
        return bytes(body[start : start + _ID_BYTES])
    if size >= _GUID_BYTES and body[start] == _GUID_MAGIC:
        return bytes(body[start : start + _GUID_BYTES])
    return UNSTAMPED


def stamp_of(part: bytes, headers: Iterable[Header], name: str) -> Stamp:
    """The stamp of a key or value that is not null; ``name`` is that of its header."""
    for header, value in headers:
        if header == name:
            return stamp_in_header(value)
    return stamp_at(part, 0, len(part))


def stamp_in_header(value: bytes | None) -> Stamp:
    if value is not None and len(value) >= _GUID_BYTES and value[0] == _GUID_MAGIC:
        return value[:_GUID_BYTES]
    return UNSTAMPED


class TooManyRecords(Exception):
    """The scan would take longer than its caller allows."""


def scan_stamps(
    body: Indexed, count: int, *, keys: bool, values: bool, end: int | None = None, loop_records_max: int = _ANY_NUMBER
) -> Stamps:
    """Raises ``MalformedRecord`` when ``body``, up to ``end``, is not ``count`` records.

    Raises :class:`TooManyRecords` when more than ``loop_records_max`` records must be looked at one
    by one; runs of similar records do not count (:mod:`.uniform_runs`).
    """
    if end is None:
        end = len(body)
    if count < 0 or count * RECORD_BYTES_MIN > end:
        raise MalformedRecord(f"{count} records cannot fit into {end} bytes")
    found = Stamps(set(), set())
    of_keys, of_values = found
    latest: Stamp | None = None
    position = index = 0
    # How many records in a row have the same size, and may make a run.
    size_before, similar, looked_at, runs = -1, 0, 0, 0
    try:
        while index < count:
            record_start = position
            # Zig-zag numbers of one and two bytes are decoded in place: nearly all numbers have
            # that size.
            number = body[position]
            if number < 0x80:
                position += 1
            elif (more := body[position + 1]) < 0x80:
                number += (more - 1) << 7
                position += 2
            else:
                number, position = read_uvarint(body, position)
            size = number >> 1
            stop = position + size
            if number & 1 or stop > end:
                raise MalformedRecord(f"record {index} of {count} has {size} bytes where {end - position} remain")
            numbers_start = position = position + 1  # behind the attributes
            while body[position] >= 0x80:  # timestamp
                position += 1
            position += 1
            while body[position] >= 0x80:  # offset
                position += 1
            number = body[position + 1]
            numbers_stop = position + 1
            position += 2
            if number >= 0x80:
                number, position = read_uvarint(body, position - 1)
            key_start = -1
            if number != _NULL:
                if number & 1:
                    raise MalformedRecord(f"record {index} of {count} has a key of length {-((number + 1) // 2)}")
                key_start, position = position, position + (number >> 1)
            key_stop = position
            number = body[position]
            if number < 0x80:
                position += 1
            elif (more := body[position + 1]) < 0x80:
                number += (more - 1) << 7
                position += 2
            else:
                number, position = read_uvarint(body, position)
            start = position
            if number == _NULL:
                start = -1
            elif number & 1:
                raise MalformedRecord(f"record {index} of {count} has a value of length {-((number + 1) // 2)}")
            else:
                position += number >> 1
            if position >= stop:
                raise MalformedRecord(f"record {index} of {count} ends within its parts")
            if body[position]:
                _scan_with_headers(found, body, (key_start, key_stop, start, position, stop), keys=keys, values=values)
                similar = 0
            else:
                if position + 1 != stop:
                    raise MalformedRecord(f"record {index} of {count} ends {stop - position - 1} bytes after its parts")
                if values and start >= 0:
                    # Most values have an id, and the id of the value before.
                    stamp = body[start : start + _ID_BYTES]
                    if stamp != latest:
                        latest = stamp_at(body, start, position)
                        of_values.add(latest)
                        if len(latest) != _ID_BYTES:
                            latest = None
                        similar = 0
                    elif position - start < _ID_BYTES:
                        of_values.add(UNSTAMPED)
                        similar = 0
                    elif size == size_before and key_start < 0:
                        similar += 1
                    else:
                        similar = 0
                if keys and key_start >= 0:
                    of_keys.add(stamp_at(body, key_start, key_stop))
            size_before = size
            position = stop
            index += 1
            looked_at += 1
            if similar >= RUN_RECORDS_MIN and latest is not None:
                similar = 0
                runs += 1
                if numbers_stop - numbers_start <= NUMBERS_BYTES_MAX and runs <= RUNS_MAX:
                    length, value_length = body[record_start : numbers_start - 1], body[numbers_stop + 1 : start]
                    rest_size = stop - 1 - start - _ID_BYTES
                    run = run_of(bytes(length), numbers_stop - numbers_start, bytes(value_length), latest, rest_size).match(body, stop, end)
                    if run is not None:
                        position = run.end()
                        index += (position - stop) // (stop - record_start)
            elif looked_at > loop_records_max:
                raise TooManyRecords
    except (IndexError, MalformedVarint) as error:
        raise MalformedRecord(f"a record is cut off: {error}") from error
    if position != end or index != count:
        raise MalformedRecord(f"the last of {count} records ends at {position} of {end} bytes")
    return found


def _scan_with_headers(found: Stamps, body: Indexed, places: tuple[int, int, int, int, int], *, keys: bool, values: bool) -> None:
    key_start, key_stop, start, value_stop, stop = places
    in_headers = _stamps_in_headers(body, value_stop, stop)
    if keys and key_start >= 0:
        stamp = in_headers.get(_KEY_HEADER_BYTES)
        found.keys.add(stamp_at(body, key_start, key_stop) if stamp is None else stamp)
    if values and start >= 0:
        stamp = in_headers.get(_VALUE_HEADER_BYTES)
        found.values.add(stamp_at(body, start, value_stop) if stamp is None else stamp)


def _stamps_in_headers(body: Indexed, position: int, stop: int) -> dict[bytes, Stamp]:
    """The stamps in the headers that have one of the two names; of several headers with one name
    the first counts."""
    count, position = read_varint(body, position)
    if count < 0 or count * 2 > stop - position:
        raise MalformedRecord(f"{count} headers where {stop - position} bytes remain")
    found: dict[bytes, Stamp] = {}
    for _ in range(count):
        length, position = read_varint(body, position)
        if not 0 <= length <= stop - position:
            raise MalformedRecord(f"a header's name of {length} bytes where {stop - position} remain")
        name, position = bytes(body[position : position + length]), position + length
        length, position = read_varint(body, position)
        if not -1 <= length <= stop - position:
            raise MalformedRecord(f"a header's value of {length} bytes where {stop - position} remain")
        size = max(0, length)
        if name in (_KEY_HEADER_BYTES, _VALUE_HEADER_BYTES) and name not in found:
            found[name] = stamp_in_header(bytes(body[position : position + size]))
        position += size
    if position != stop:
        raise MalformedRecord(f"a record ends {stop - position} bytes after its headers")
    return found
