"""Protobuf without a schema: fields by their numbers, guessed from the bytes.

A message is a list of keys and values; a key has the number of a field and the type of its value on
the wire. Bytes inside are shown as text if they are text, as a message if they are one, and as hex
otherwise. Other data may pass for a message by chance, so this format comes after all others, and
only for messages whose fields have small numbers.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from barnabas.console.core.decoding.plain_text import read_text

DEPTH_MAX: Final = 30
# Fields of one message; hand-written ones have fewer, and generated ones seldom more.
FIELDS_MAX: Final = 10_000
# Most files number their fields from 1; random bytes do not.
FIELD_NUMBER_MAX: Final = 200
# Shorter bytes are a message by chance too often.
BYTES_MIN: Final = 4
_VARINT_BYTES_MAX: Final = 10
NOT_PROTOBUF: Final = object()


class _Malformed(ValueError):
    pass


def read_protobuf(data: bytes) -> Any:
    """:data:`NOT_PROTOBUF` for bytes that are no message up to their last byte."""
    if len(data) < BYTES_MIN:
        return NOT_PROTOBUF
    try:
        return _message(data, 0)
    except _Malformed:
        return NOT_PROTOBUF


def _message(data: bytes, depth: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    position = count = 0
    while position < len(data):
        count += 1
        if depth > DEPTH_MAX or count > FIELDS_MAX:
            raise _Malformed
        key, position = _varint(data, position)
        number, wire_type = key >> 3, key & 7
        if not 1 <= number <= FIELD_NUMBER_MAX:
            raise _Malformed
        value, position = _value(data, position, wire_type, depth)
        name = str(number)
        # A field that comes again is a list.
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    return fields


def _value(data: bytes, position: int, wire_type: int, depth: int) -> tuple[Any, int]:
    match wire_type:
        case 0:
            return _varint(data, position)
        case 1:
            return _fixed(data, position, "<d", 8)
        case 2:
            size, position = _varint(data, position)
            end = position + size
            if end > len(data):
                raise _Malformed
            return _inner(data[position:end], depth), end
        case 5:
            return _fixed(data, position, "<f", 4)
    raise _Malformed


def _inner(data: bytes, depth: int) -> Any:
    text = read_text(data)
    if text is not None:
        return text
    try:
        return _message(data, depth + 1)
    except _Malformed:
        return data


def _fixed(data: bytes, position: int, number_format: str, size: int) -> tuple[float, int]:
    """The same bytes may be a whole number; a fraction is the more common one."""
    if position + size > len(data):
        raise _Malformed
    (number,) = struct.unpack_from(number_format, data, position)
    return number, position + size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = 0
    for count in range(_VARINT_BYTES_MAX):
        if position + count >= len(data):
            raise _Malformed
        byte = data[position + count]
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return number, position + count + 1
    raise _Malformed
