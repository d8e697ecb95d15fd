"""Confluent's framing, beside the bytes that Confluent's own client makes."""

from __future__ import annotations

import io
from contextlib import suppress
from uuid import UUID

import pytest
from confluent_kafka.schema_registry.serde import SchemaId
from hypothesis import given, strategies as st

from barnabas.schemas.errors import NotFramed
from barnabas.schemas.framing import (
    Frame,
    read_either,
    read_frame,
    read_guid,
    read_indexes,
    write_frame,
    write_guid,
    write_indexes,
)

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")
ids = st.integers(0, 2**31 - 1)
indexes = st.lists(st.integers(0, 2**20), min_size=1, max_size=10)


@given(ids, st.binary(max_size=20))
def test_frame_of_an_id_has_confluents_bytes(schema_id: int, payload: bytes) -> None:
    framed = write_frame(schema_id, payload)
    assert framed == SchemaId("AVRO", schema_id).id_to_bytes() + payload
    assert read_frame(framed) == (schema_id, payload)


@given(ids, indexes)
def test_message_indexes_have_confluents_bytes(schema_id: int, given_indexes: list[int]) -> None:
    framed = write_frame(schema_id, write_indexes(given_indexes))
    assert framed == SchemaId("PROTOBUF", schema_id, message_indexes=given_indexes).id_to_bytes()
    assert read_indexes(read_frame(framed)[1]) == (tuple(given_indexes), b"")
    read = SchemaId("PROTOBUF")
    read.from_bytes(io.BytesIO(framed))
    assert read.message_indexes == given_indexes


def test_index_of_the_first_message_is_one_byte() -> None:
    assert write_indexes([0]) == b"\x00"
    assert read_indexes(b"\x00rest") == ((0,), b"rest")
    # Java reads the long form of the same list too.
    assert read_indexes(b"\x02\x00rest") == ((0,), b"rest")


@given(st.uuids(), indexes)
def test_header_of_a_guid_has_confluents_bytes(guid: UUID, given_indexes: list[int]) -> None:
    header = write_guid(guid, write_indexes(given_indexes))
    assert header == SchemaId("PROTOBUF", guid=str(guid), message_indexes=given_indexes).guid_to_bytes()
    assert read_guid(header) == (guid, write_indexes(given_indexes))


def test_header_names_the_schema_before_the_bytes_do() -> None:
    assert read_either(b"payload", write_guid(GUID)) == Frame(GUID, b"payload")
    assert read_either(b"message", write_guid(GUID, b"\x00")) == Frame(GUID, b"\x00message")
    assert read_either(write_guid(GUID, b"payload")) == Frame(GUID, b"payload")
    assert read_either(write_frame(7, b"payload")) == Frame(7, b"payload")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "The bytes are 0"),
        (b"\x00\x00\x00\x01", "The bytes are 4"),
        (b"{'a':1}", "The first byte is 123"),
        (b"\x00\xff\xff\xff\xff", "The id is -1"),
    ],
)
def test_bytes_without_an_id_are_not_framed(value: bytes, reason: str) -> None:
    with pytest.raises(NotFramed, match=reason):
        read_frame(value)


@given(st.binary(max_size=40), st.none() | st.binary(max_size=40))
def test_any_bytes_are_framed_or_refused(value: bytes, header: bytes | None) -> None:
    for read in (lambda: read_either(value, header), lambda: read_indexes(value)):
        with suppress(NotFramed):
            read()
