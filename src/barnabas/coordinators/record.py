"""Records of a coordinator's log: the key begins with its type, the value with its version, and a
null value is a tombstone.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from barnabas.model.buffers import Buffer
from barnabas.wire.compiler import decode, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.varint import write_varint

_NUMBER = struct.Struct(">h")
_NO_BYTES = 0x01  # The length of a null value: minus one in zig-zag.
_KEY_VERSION = 0  # The version of all keys; the type stands where a key's version would be.

# Key and value classes by record type.
RecordTypes: TypeAlias = Mapping[int, tuple[type[Any], type[Any]]]


class CoordinatorRecord(NamedTuple):
    key: Any
    value: Any | None  # None is a tombstone.
    version: int = 0  # The version of the value.

    def encode(self) -> tuple[bytes, bytes | None]:
        key, value = self._encode()
        return bytes(key), None if value is None else bytes(value)

    def encode_at(self, offset_delta: int) -> bytearray:
        """The record, as it stands at this place in an uncompressed batch of one time."""
        key, value = self._encode()
        body = bytearray(2)  # No attributes, and no distance in time.
        write_varint(body, offset_delta)
        write_varint(body, len(key))
        body += key
        if value is None:
            body.append(_NO_BYTES)
        else:
            write_varint(body, len(value))
            body += value
        body.append(0)  # No headers.
        record = bytearray()
        write_varint(record, len(body))
        record += body
        return record

    def _encode(self) -> tuple[bytearray, bytearray | None]:
        key = bytearray(_type_in_front(type(self.key)))  # type: ignore[arg-type]
        encoder(type(self.key), _KEY_VERSION)(self.key, key)
        if self.value is None:
            return key, None
        value = bytearray(_NUMBER.pack(self.version))
        encoder(type(self.value), self.version)(self.value, value)
        return key, value


@cache  # Bounded by the number of key classes.
def _type_in_front(key_class: type[Any]) -> bytes:
    kind = declaration_of(key_class).key
    assert kind is not None, f"{key_class.__name__} is not a key of a coordinator record"
    return _NUMBER.pack(kind)


def decode_record(types: RecordTypes, key: Buffer, value: Buffer | None) -> CoordinatorRecord | None:
    """None for a type that is not in ``types``: a newer Kafka wrote it. Raises ``MalformedMessage``
    for invalid bytes.
    """
    (kind,) = _NUMBER.unpack_from(key)
    known = types.get(kind)
    if known is None:
        return None
    key_class, value_class = known
    decoded_key, _ = decode(key_class, _KEY_VERSION, key, _NUMBER.size)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    (version,) = _NUMBER.unpack_from(value)
    decoded, _ = decode(value_class, version, value, _NUMBER.size)
    return CoordinatorRecord(decoded_key, decoded, version)
