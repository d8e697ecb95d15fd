"""The frame around records of the metadata log and of ``__remote_log_metadata``.

A value is ``uvarint frame version = 1``, ``uvarint api key``, ``uvarint version``, then the
message. Records have no key. Kafka writes frame version 1 and refuses 0, although its documentation
says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from barnabas.model.buffers import Buffer
from barnabas.wire.compiler import DECODE_ERRORS, decoder, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.varint import read_uvarint, write_uvarint

FRAME_VERSION: Final = 1


def by_key(records: Iterable[type[Any]]) -> dict[int, type[Any]]:
    found: dict[int, type[Any]] = {}
    for record in records:
        key = declaration_of(record).key
        assert key is not None, f"{record.__name__} has no key"
        found[key] = record
    return found


def encode_framed(record: Any) -> bytes:
    """The record in its newest version."""
    declaration = declaration_of(type(record))
    assert declaration.key is not None, f"{type(record).__name__} has no key"
    out = bytearray((FRAME_VERSION,))
    write_uvarint(out, declaration.key)
    version = declaration.versions.highest
    write_uvarint(out, version)
    encoder(type(record), version)(record, out)
    return bytes(out)


def decode_framed(value: Buffer, records: Mapping[int, type[Any]], what: str) -> Any:
    """One of ``records``; raises ``MalformedMessage`` for any other bytes."""
    try:
        frame_version, position = read_uvarint(value, 0)
        key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
        if frame_version != FRAME_VERSION:
            raise MalformedMessage(f"frame version {frame_version} is not {FRAME_VERSION}")
        if key not in records:
            raise MalformedMessage(f"record type {key} is unknown")
        record, end = decoder(records[key], version)(value, position)
    except DECODE_ERRORS as error:
        raise MalformedMessage(f"{what} cannot be read: {error}") from error
    if end != len(value):
        raise MalformedMessage(f"{len(value) - end} bytes follow a {type(record).__name__}")
    return record
