"""Framed records as rows, without Spark and without a server."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from barnabas.pipelines.column_types import arrow_type
from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.registered.columns import columns_of
from barnabas.pipelines.registered.decoding import Decoder
from barnabas.pipelines.registered.plans import DecodingPlan, SchemaText
from barnabas.pipelines.registered.registry import UnknownSchema
from barnabas.registry_client import RegistrySettings
from barnabas.schemas.codec import codec_of
from barnabas.schemas.framing import write_frame, write_guid
from barnabas.schemas.schema import SchemaType

pytest.importorskip("pyarrow", reason="pip install 'barnabas[spark]'")

GUID = UUID(int=7)
ANYWHERE = RegistrySettings.of_url("http://registry.invalid")


def avro(*fields: tuple[str, Any]) -> SchemaText:
    named = [{"name": name, "type": kind} for name, kind in fields]
    return SchemaText(SchemaType.AVRO, json.dumps({"type": "record", "name": "R", "fields": named}))


class KnownSchemas:
    """A registry that counts the questions."""

    def __init__(self, known: dict[int | UUID, SchemaText]) -> None:
        self.known = known
        self.asked: list[int | UUID] = []
        self.answers = True

    def schema(self, schema: int | UUID) -> SchemaText:
        self.asked.append(schema)
        if not self.answers:
            raise RunFailed("No registry answers.")
        if schema not in self.known:
            raise UnknownSchema(f"the registry has no schema with the id {schema}")
        return self.known[schema]


def decoder_of(reader: SchemaText, schemas: KnownSchemas, record: str | None = None) -> Decoder:
    return Decoder(DecodingPlan(ANYWHERE, 0, reader, record), schemas)


def rows(decoder: Decoder, reader: SchemaText, *values: bytes | None, header: bytes | None = None) -> list[tuple[Any, str | None]]:
    kind = arrow_type(columns_of(reader.parsed()))
    found, reasons = decoder.rows(values, [header] * len(values), kind)
    return list(zip(found.to_pylist(), reasons, strict=True))


OLD, NEW = avro(("id", "int")), avro(("id", "long"))


def data(schema: SchemaText, value: Any) -> bytes:
    return codec_of(schema.parsed()).encode(value)


def test_each_writers_schema_is_asked_for_once() -> None:
    schemas = KnownSchemas({1: OLD, 2: NEW, GUID: OLD})
    decoder = decoder_of(NEW, schemas)
    first, second = write_frame(1, data(OLD, {"id": 1})), write_frame(2, data(NEW, {"id": 2**40}))
    for _ in range(2):
        assert rows(decoder, NEW, first, second, first) == [({"id": 1}, None), ({"id": 2**40}, None), ({"id": 1}, None)]
    assert rows(decoder, NEW, data(OLD, {"id": 3}), header=write_guid(GUID)) == [({"id": 3}, None)]
    assert schemas.asked == [1, 2, GUID]


def test_an_unknown_schema_is_asked_for_again_in_the_next_batch() -> None:
    schemas = KnownSchemas({})
    decoder = decoder_of(NEW, schemas)
    value = write_frame(5, data(NEW, {"id": 1}))
    assert rows(decoder, NEW, value, value) == [(None, "the registry has no schema with the id 5")] * 2
    assert schemas.asked == [5], "once in a batch"
    schemas.known[5] = NEW
    assert rows(decoder, NEW, value) == [({"id": 1}, None)]


def test_bad_records_get_reasons_and_the_others_rows() -> None:
    properties = {"n": {"type": "integer"}, "at": {"type": "string", "format": "date"}}
    reader = SchemaText(SchemaType.JSON, json.dumps({"type": "object", "properties": properties}))
    decoder = decoder_of(reader, KnownSchemas({1: reader, 2: NEW}))
    good = write_frame(1, b'{"n": 1, "at": "2030-01-31"}')
    found = rows(
        decoder,
        reader,
        good,
        None,
        b"",
        b"plain text",
        write_frame(1, b"{"),
        write_frame(1, b"[]"),
        write_frame(1, b"null"),
        write_frame(1, b'{"n": "one"}'),
        write_frame(1, b'{"at": "soon"}'),
        write_frame(1, str({"n": 2**70}).replace("'", '"').encode()),
        write_frame(2, b""),
        good,
    )
    assert [reason is None for _, reason in found] == [True, *[False] * 10, True]
    assert found[0][0] == found[-1][0] is not None
    assert [row for row, reason in found if reason is not None] == [None] * 10
    reasons = [reason or "" for _, reason in found]
    assert reasons[1] == "there is no value"
    assert "magic byte" in reasons[3]
    assert "soon" in reasons[8]
    assert reasons[9].startswith("it does not fit the columns")
    assert reasons[10].startswith("schema 2 does not fit the readers' schema")


def test_records_of_another_message_are_undecodable() -> None:
    text = 'syntax = "proto3"; package a; message R { int32 x = 1; } message S { int32 x = 1; }'
    schema = SchemaText(SchemaType.PROTOBUF, text)
    decoder = decoder_of(schema, KnownSchemas({1: schema}))
    first, other = (codec_of(schema.parsed(), message=name).encode({"x": 7}) for name in ("a.R", "a.S"))
    assert rows(decoder, schema, write_frame(1, first), write_frame(1, other)) == [
        ({"x": 7}, None),
        (None, "It is a message a.S, and the columns are those of a.R"),
    ]


def test_an_unreachable_registry_is_no_property_of_a_record() -> None:
    schemas = KnownSchemas({1: NEW})
    schemas.answers = False
    with pytest.raises(RunFailed, match="No registry answers"):
        rows(decoder_of(NEW, schemas), NEW, write_frame(1, b"x"))


def test_names_tell_the_records_of_a_union_apart() -> None:
    point = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}
    schema = avro(("of", [point, {**point, "name": "Q"}]))
    decoder = decoder_of(schema, KnownSchemas({1: schema}))
    value = write_frame(1, data(schema, {"of": ("Q", {"x": 1})}))
    assert rows(decoder, schema, value) == [({"of": {"member0": None, "member1": {"x": 1}}}, None)]
