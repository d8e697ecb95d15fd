"""Variable-length integers: seven bits a byte, least significant group first.

Unsigned ones carry lengths, counts and tags of flexible messages; zig-zag ones carry everything
inside a record. A reader takes at most five bytes for 32 bits and ten for 64, because only an
attacker sends more. Compiled decoders inline the one-byte case and call these functions for the
rest.
"""

from __future__ import annotations

from barnabas.model.buffers import Buffer
from barnabas.model.compiled import compiled

UVARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10
INT64_LIMIT = 2**63


class MalformedVarint(ValueError):
    """More bytes than the number can have."""


def wrap_int64(value: int) -> int:
    """The number of 64 bits to which Java's arithmetic brings ``value``."""
    return (value + INT64_LIMIT) % (2 * INT64_LIMIT) - INT64_LIMIT


@compiled
def read_uvarint(buffer: Buffer, position: int, /) -> tuple[int, int]:
    """The number at ``position`` and the position after it. ``IndexError`` when the buffer ends
    first.
    """
    value = buffer[position]
    if value < 0x80:
        return value, position + 1
    byte = buffer[position + 1]
    if byte < 0x80:
        return value + ((byte - 1) << 7), position + 2
    value = shift = 0
    for _ in range(UVARINT_BYTES_MAX):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFF_FFFF:
                raise MalformedVarint(f"unsigned varint {value} needs more than 32 bits")
            return value, position
        shift += 7
    raise MalformedVarint(f"unsigned varint is longer than {UVARINT_BYTES_MAX} bytes")


def write_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def uvarint_size(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


@compiled
def read_varlong(buffer: Buffer, position: int, /) -> tuple[int, int]:
    """A zig-zag number of up to 64 bits and the position after it."""
    value = shift = 0
    for _ in range(VARLONG_BYTES_MAX):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFF_FFFF_FFFF_FFFF
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise MalformedVarint(f"varlong is longer than {VARLONG_BYTES_MAX} bytes")


@compiled
def read_varint(buffer: Buffer, position: int, /) -> tuple[int, int]:
    """A zig-zag number of up to 32 bits and the position after it."""
    value, position = read_uvarint(buffer, position)
    return (value >> 1) ^ -(value & 1), position


def write_varint(out: bytearray, value: int) -> None:
    """Zig-zag, for both widths: the encodings agree wherever both can hold the number."""
    write_uvarint(out, (value << 1) ^ (value >> 63))
