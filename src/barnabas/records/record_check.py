"""A check of the records inside a batch that does not build them as Python objects.

One pass over the bytes, all numbers inlined: about 0.6 us a record, a seventh of the cost of
opening it. Each part must lie inside its record, offset deltas must count up from zero, and the
last record must end where the batch ends.
"""

from __future__ import annotations

from barnabas.model.buffers import Buffer
from barnabas.model.compiled import compiled
from barnabas.records.batch_header import RECORD_BYTES_MIN
from barnabas.wire.varint import MalformedVarint, read_uvarint, read_varint, read_varlong

# In zig-zag, as in the bytes.
_LENGTH_MIN = 2 * (RECORD_BYTES_MIN - 1)
_NULL = 1
# A lone record of a hundred bytes or more, without a key, has eight bytes before its value, and
# behind it a zero, the count of its headers. When these bytes and the size equal those of a record
# that passed the check, this record passes too: producers send many similar records.
_BEFORE_VALUE_BYTES = 8
_right_before_value: set[tuple[int, bytes]] = set()
_REMEMBERED_MAX = 4096


class RecordFault(ValueError):
    """The index of an invalid record, and the fault in it."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index
        self.message = message


@compiled
def check_records(body: Buffer, record_count: int, records_max: int, keys_required: bool = False, /) -> None:
    """Check the first ``records_max`` of ``record_count`` uncompressed records; ``RecordFault``
    names the first bad one.

    Whether the records fill the body exactly is only known when all of them are checked.
    """
    end = len(body)
    if record_count == 1 and not keys_required:
        before_value = (end, bytes(body[:_BEFORE_VALUE_BYTES]))
        if before_value in _right_before_value and not body[-1]:
            return
    if record_count * RECORD_BYTES_MIN > end:
        raise RecordFault(0, f"{record_count} records cannot fit into {end} bytes")
    position = 0
    index = 0
    try:
        for index in range(record_count if record_count < records_max else records_max):
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
            stop = position + (number >> 1)
            if number & 1 or number < _LENGTH_MIN or stop > end:
                raise RecordFault(index, f"record of {number >> 1} bytes where {end - position} remain")
            # One byte of attributes, then the timestamp delta, which may have any value.
            if body[position + 1] < 0x80:
                position += 2
            else:
                _, position = read_varlong(body, position + 1)
            number = body[position]
            if number < 0x80:
                position += 1
            else:
                number, position = read_uvarint(body, position)
            if number != 2 * index:
                raise RecordFault(index, f"record {index} carries an offset delta of {number / 2:g}")
            number = body[position]
            if number == _NULL:
                position += 1
            else:
                number, position = read_uvarint(body, position)
                if not number & 1:
                    position += number >> 1
                elif number != _NULL:  # minus one may also take more bytes than it needs
                    raise RecordFault(index, f"key has length {-((number + 1) // 2)}")
            if keys_required and number == _NULL:
                raise RecordFault(index, "a compacted topic accepts only records with a key")
            number = body[position]
            if number < 0x80:
                position += 1
            elif (more := body[position + 1]) < 0x80:
                number += (more - 1) << 7
                position += 2
            else:
                number, position = read_uvarint(body, position)
            value_position = position
            if not number & 1:
                position += number >> 1
            elif number != _NULL:
                raise RecordFault(index, f"value has length {-((number + 1) // 2)}")
            value_end = position
            if body[position]:
                position = _skip_headers(body, position, stop, index)
            else:
                position += 1
            if position != stop:
                raise RecordFault(index, f"the parts of a record end {stop - position} bytes off")
    except (IndexError, MalformedVarint) as error:
        raise RecordFault(index, f"record is cut off: {error}") from error
    if record_count <= records_max and position != end:
        raise RecordFault(record_count - 1, f"{end - position} bytes remain after the last record")
    if record_count == 1 and not keys_required and value_position == _BEFORE_VALUE_BYTES and value_end == end - 1:
        if len(_right_before_value) >= _REMEMBERED_MAX:
            _right_before_value.clear()
        _right_before_value.add(before_value)


def _skip_headers(body: Buffer, position: int, stop: int, index: int) -> int:
    count, position = read_varint(body, position)
    if count < 0 or count * 2 > stop - position:
        raise RecordFault(index, f"{count} headers where {stop - position} bytes remain")
    for _ in range(count):
        for nullable in (False, True):
            length, position = read_varint(body, position)
            if length < (-1 if nullable else 0) or length > stop - position:
                raise RecordFault(index, f"header part of {length} bytes where {stop - position} remain")
            position += max(0, length)
    return position
