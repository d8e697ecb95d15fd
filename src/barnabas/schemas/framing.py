"""Confluent's framing: how the bytes of a record name their schema.

==============  ===================================================================================
the id, first   ``0x00``, the id as int32, then the payload
the GUID first  ``0x01``, the 16 bytes of the GUID, then the payload
in a header     the header ``__key_schema_id`` or ``__value_schema_id`` is ``0x01`` and the GUID;
                the key or value is the payload alone
==============  ===================================================================================

All numbers are big endian. For Protobuf, the position of the message in its file follows the id or
the GUID, in the header too: a list of indexes, one for each level of nesting. The list is its
length and then its numbers, all zigzag varints; the usual list ``[0]`` is the one byte 0.

A *payload* is everything after the id or the GUID, indexes included. When a header names the
schema, put the rest of the header in front of the value: that is the same payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from barnabas.schemas.errors import NotFramed
from barnabas.schemas.limits import MESSAGE_INDEXES_MAX

MAGIC_ID: Final = 0
MAGIC_GUID: Final = 1
KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"

_ID: Final = Struct(">Bi")
_GUID_SIZE: Final = 16
_VARINT_BYTES_MAX: Final = 5


class Frame(NamedTuple):
    schema: int | UUID
    payload: bytes


def read_frame(value: bytes) -> tuple[int, bytes]:
    """The id and the payload. Raises :class:`NotFramed`."""
    if len(value) < _ID.size:
        raise NotFramed(f"The bytes are {len(value)}, and an id of a schema takes {_ID.size}.")
    magic, schema_id = _ID.unpack_from(value)
    if magic != MAGIC_ID:
        raise NotFramed(f"The first byte is {magic}, and not the magic byte {MAGIC_ID}.")
    if schema_id < 0:
        raise NotFramed(f"The id is {schema_id}, and ids are not negative.")
    return schema_id, value[_ID.size :]


def write_frame(schema_id: int, payload: bytes) -> bytes:
    return _ID.pack(MAGIC_ID, schema_id) + payload


def read_guid(header: bytes) -> tuple[UUID, bytes]:
    """The GUID at the start of a header or of a value, and the rest. Raises :class:`NotFramed`."""
    if len(header) < 1 + _GUID_SIZE:
        raise NotFramed(f"The bytes are {len(header)}, and a GUID takes {1 + _GUID_SIZE}.")
    if header[0] != MAGIC_GUID:
        raise NotFramed(f"The first byte is {header[0]}, and not the magic byte {MAGIC_GUID}.")
    return UUID(bytes=bytes(header[1 : 1 + _GUID_SIZE])), header[1 + _GUID_SIZE :]


def write_guid(guid: UUID, rest: bytes = b"") -> bytes:
    return bytes((MAGIC_GUID,)) + guid.bytes + rest


def read_either(value: bytes, header: bytes | None = None) -> Frame:
    """The schema that a header names, or the bytes themselves. Raises :class:`NotFramed`."""
    if header is not None:
        guid, rest = read_guid(header)
        return Frame(guid, rest + value)
    if value[:1] == bytes((MAGIC_GUID,)):
        return Frame(*read_guid(value))
    return Frame(*read_frame(value))


def read_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """The position of a Protobuf message, and its bytes. Raises :class:`NotFramed`."""
    count, at = _read_varint(payload, 0)
    if count == 0:
        return (0,), payload[at:]
    if not 0 < count <= MESSAGE_INDEXES_MAX:
        raise NotFramed(f"The list of message indexes has {count} entries.")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(payload, at)
        if index < 0:
            raise NotFramed(f"A message index is {index}.")
        indexes.append(index)
    return tuple(indexes), payload[at:]


def write_indexes(indexes: Sequence[int]) -> bytes:
    if list(indexes) == [0]:
        return b"\x00"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(data[at : at + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + count + 1
    raise NotFramed("The message indexes end within a number.")


def _varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 31)
    written = bytearray()
    while value > 0x7F:
        written.append((value & 0x7F) | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
