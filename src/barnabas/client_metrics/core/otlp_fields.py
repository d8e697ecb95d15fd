"""The fields of a protobuf message, without a schema: enough to read OTLP and to write labels.

A message is a list of fields. Each has a tag (number and wire type), then a varint, four or eight
bytes, or a length and that many bytes. Nested messages are byte strings until a caller opens them,
so a message that nests itself a million times costs no more than a flat one. Groups, a form from
before proto3 that OTLP does not have, are refused; protobuf's own parsers skip unknown ones.

The budget counts fields over all levels of one push: a megabyte can hold half a million empty
messages, and each costs time, however small it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
# A Java client that pushes eight metrics for each of two thousand topics needs 300,000, and reading
# as many takes a thread half a second.
FIELDS_MAX = 500_000

_EIGHT = struct.Struct("<q")
_FOUR = struct.Struct("<i")


class MalformedOtlp(ValueError):
    """The bytes are not a message of OTLP."""


class OtlpTooLarge(ValueError):
    """The message is well-formed as far as it was read, and has more parts than are read."""


class Budget:
    """The fields that may still be read."""

    __slots__ = ("left",)

    def __init__(self, fields_max: int = FIELDS_MAX) -> None:
        self.left = fields_max


Field = tuple[int, int, int, bytes]
"""Number, wire type, value, bytes. The bytes belong to ``BYTES``, the value to the others: an
unsigned varint, or the bits of a fixed number as a signed one."""


def fields(message: bytes, budget: Budget) -> Iterator[Field]:
    position, end = 0, len(message)
    while position < end:
        budget.left -= 1
        if budget.left < 0:
            raise OtlpTooLarge(f"more than {FIELDS_MAX} fields")
        tag = message[position]
        position += 1
        if tag >= 0x80:
            tag, position = _varint(message, position - 1)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise MalformedOtlp("a field has number 0")
        if wire_type == BYTES:
            size, position = _varint(message, position)
            if size > end - position:
                raise MalformedOtlp(f"field {number} has {size} bytes where {end - position} remain")
            yield number, wire_type, 0, message[position : position + size]
            position += size
        elif wire_type == VARINT:
            value, position = _varint(message, position)
            yield number, wire_type, value, b""
        elif wire_type in (EIGHT_BYTES, FOUR_BYTES):
            form = _EIGHT if wire_type == EIGHT_BYTES else _FOUR
            if form.size > end - position:
                raise MalformedOtlp(f"field {number} is cut off")
            yield number, wire_type, form.unpack_from(message, position)[0], b""
            position += form.size
        else:
            raise MalformedOtlp(f"field {number} has wire type {wire_type}")


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(message):
            raise MalformedOtlp("a number is cut off")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift > 63:
            raise MalformedOtlp("a number has more than ten bytes")


def bytes_field(number: int, content: bytes) -> bytes:
    """Writes a field whose number is below 16."""
    size, out = len(content), bytearray([number << 3 | BYTES])
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out) + content
