"""MessagePack: read whole, with limits.

Only maps and arrays are taken for MessagePack: almost any other bytes begin with a valid number of
it.
"""

from __future__ import annotations

import struct
from typing import Any, Final

DEPTH_MAX: Final = 60
# Values in one document; a document of a megabyte has fewer.
VALUES_MAX: Final = 1_000_000
_NUMBERS: Final = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
# Markers whose length follows: (format of the length, kind).
_SIZED: Final = {
    0xC4: (">B", "bytes"),
    0xC5: (">H", "bytes"),
    0xC6: (">I", "bytes"),
    0xC7: (">B", "extension"),
    0xC8: (">H", "extension"),
    0xC9: (">I", "extension"),
    0xD9: (">B", "text"),
    0xDA: (">H", "text"),
    0xDB: (">I", "text"),
    0xDC: (">H", "array"),
    0xDD: (">I", "array"),
    0xDE: (">H", "map"),
    0xDF: (">I", "map"),
}
_CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}
NOT_MESSAGE_PACK: Final = object()


class _Malformed(ValueError):
    pass


def read_message_pack(data: bytes) -> Any:
    """:data:`NOT_MESSAGE_PACK` for bytes that are no single map or array."""
    if not data or not (0x80 <= data[0] <= 0x9F or 0xDC <= data[0] <= 0xDF):
        return NOT_MESSAGE_PACK
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (_Malformed, struct.error, UnicodeDecodeError, IndexError):
        return NOT_MESSAGE_PACK
    return value if reader.position == len(data) else NOT_MESSAGE_PACK


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0
        self._values = 0

    def value(self, depth: int) -> Any:
        self._values += 1
        if depth > DEPTH_MAX or self._values > VALUES_MAX:
            raise _Malformed
        marker = self._data[self.position]
        self.position += 1
        if marker <= 0x7F:
            return marker
        if marker >= 0xE0:
            return marker - 0x100
        if marker <= 0x8F:
            return self._map(marker & 0x0F, depth)
        if marker <= 0x9F:
            return self._array(marker & 0x0F, depth)
        if marker <= 0xBF:
            return self._take(marker & 0x1F).decode("utf-8")
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _NUMBERS:
            return self._number(_NUMBERS[marker])
        if 0xD4 <= marker <= 0xD8:
            return self._extension(1 << (marker - 0xD4))
        if marker not in _SIZED:
            raise _Malformed
        length_format, kind = _SIZED[marker]
        return self._sized(kind, self._number(length_format), depth)

    def _sized(self, kind: str, length: int, depth: int) -> Any:
        match kind:
            case "bytes":
                return self._take(length)
            case "text":
                return self._take(length).decode("utf-8")
            case "array":
                return self._array(length, depth)
            case "map":
                return self._map(length, depth)
        return self._extension(length)

    def _map(self, length: int, depth: int) -> dict[str, Any]:
        self._check_left(2 * length)
        made = {}
        for _ in range(length):
            key = self.value(depth + 1)
            made[key if isinstance(key, str) else str(key)] = self.value(depth + 1)
        return made

    def _array(self, length: int, depth: int) -> list[Any]:
        self._check_left(length)
        return [self.value(depth + 1) for _ in range(length)]

    def _extension(self, length: int) -> dict[str, Any]:
        kind = self._number(">b")
        return {"extension": kind, "bytes": self._take(length)}

    def _number(self, number_format: str) -> Any:
        (number,) = struct.unpack(number_format, self._take(struct.calcsize(number_format)))
        return number

    def _take(self, length: int) -> bytes:
        self._check_left(length)
        taken = self._data[self.position : self.position + length]
        self.position += length
        return taken

    def _check_left(self, length: int) -> None:
        if length > len(self._data) - self.position:
            raise _Malformed
