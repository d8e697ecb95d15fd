"""Schemas of the three formats as columns, and their values as values of those columns."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from barnabas.pipelines.column_types import spark_name
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered.columns import columns_of, reading_converter, required_columns, writing_converter
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, SchemaType

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


def avro(kind: Any) -> ParsedSchema:
    return parse_schema(SchemaType.AVRO, json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]}))


def json_schema(kind: Any) -> ParsedSchema:
    return parse_schema(SchemaType.JSON, json.dumps({"type": "object", "properties": {"f": kind}}))


def protobuf(body: str, imports: str = "") -> ParsedSchema:
    return parse_schema(SchemaType.PROTOBUF, f'syntax = "proto3"; {imports} message R {{ {body} }}')


def column(schema: ParsedSchema) -> str:
    return spark_name(columns_of(schema)).removeprefix("struct<f:").removesuffix(">")


def read(schema: ParsedSchema, value: Any) -> Any:
    convert = reading_converter(schema)
    return ({"f": value} if convert is None else convert({"f": value}))["f"]


def written(schema: ParsedSchema, value: Any) -> Any:
    convert = writing_converter(schema)
    return ({"f": value} if convert is None else convert({"f": value})).get("f", "left out")


FIXED = {"type": "fixed", "name": "F", "size": 4}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
POINT = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}, {"name": "note", "type": ["null", "string"]}]}
NODE = {"type": "record", "name": "N", "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "N"]}]}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("bytes", "binary"),
        ("null", "string"),
        (["null", "string"], "string"),
        (["string", "null"], "string"),
        (["int", "long"], "bigint"),
        (["null", "long", "float"], "double"),
        (["null", "int", "string"], "struct<member0:int,member1:string>"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "int", "logicalType": "time-millis"}, "int"),
        ({"type": "long", "logicalType": "time-micros"}, "bigint"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "bigint"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "decimal(9,2)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}, "string"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 9}, "binary"),
        (FIXED, "binary"),
        (ENUM, "string"),
        ({"type": "array", "items": ["null", ENUM]}, "array<string>"),
        ({"type": "map", "values": POINT}, "map<string,struct<x:int,note:string>>"),
        (NODE, "struct<v:int,next:string>"),
    ],
)
def test_an_avro_type_becomes_a_column(kind: Any, expected: str) -> None:
    assert column(avro(kind)) == expected


@pytest.mark.parametrize(
    ("kind", "value", "row"),
    [
        ({"type": "string", "logicalType": "uuid"}, UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        ({"type": "int", "logicalType": "time-millis"}, time(0, 0, 1, 5000), 1005),
        ({"type": "long", "logicalType": "time-micros"}, time(0, 0, 1, 5), 1_000_005),
        ({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}, Decimal("1.25"), "1.25"),
        (["null", "long", "double"], 3, 3.0),
        (["null", "int", "string"], "a", {"member1": "a"}),
        (["null", "int", "string"], None, None),
        ([POINT, {"type": "map", "values": "int"}], {"x": 1, "note": None}, {"member0": {"x": 1, "note": None}}),
        ([POINT, {"type": "map", "values": "int"}], {"x": 1}, {"member1": [("x", 1)]}),
        ([POINT, {**POINT, "name": "Q"}], ("Q", {"x": 1, "note": None}), {"member1": {"x": 1, "note": None}}),
        ([ENUM, "string"], "B", {"member0": "B"}),
        ([ENUM, "string"], "C", {"member1": "C"}),
        ([{"type": "int", "logicalType": "date"}, "string"], date(2030, 1, 31), {"member0": date(2030, 1, 31)}),
        ([FIXED, "bytes"], b"12345", {"member1": b"12345"}),
        ({"type": "array", "items": ["null", ["int", "string"][1]]}, ["a", None], ["a", None]),
        ({"type": "map", "values": "int"}, {"a": 1}, [("a", 1)]),
        (NODE, {"v": 1, "next": {"v": 2, "next": None}}, {"v": 1, "next": '{"v":2,"next":null}'}),
    ],
)
def test_an_avro_value_becomes_a_value_of_its_column(kind: Any, value: Any, row: Any) -> None:
    assert read(avro(kind), value) == row


def test_a_row_becomes_an_avro_value() -> None:
    assert written(avro({"type": "map", "values": "int"}), [("a", 1)]) == {"a": 1}
    assert written(avro(["null", "int", POINT]), {"member0": None, "member1": {"x": 1, "note": None}}) == ("P", {"x": 1, "note": None})
    assert written(avro(["null", "int", POINT]), {"member0": None, "member1": None}) is None
    assert written(avro(NODE), {"v": 1, "next": '{"v":2,"next":null}'}) == {"v": 1, "next": {"v": 2, "next": None}}
    assert written(avro("long"), None) is None


def test_an_avro_schema_without_fields_has_the_column_value() -> None:
    text = parse_schema(SchemaType.AVRO, '"string"')
    assert spark_name(columns_of(text)) == "struct<value:string>"
    convert, back = reading_converter(text), writing_converter(text)
    assert convert is not None
    assert back is not None
    assert back(convert("a")) == "a"


TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/properties/f"}}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({"type": "integer"}, "bigint"),
        ({"type": "number"}, "double"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]}, "date"),
        ({"type": "string", "format": "decimal(9,2)"}, "decimal(9,2)"),
        ({"type": "string", "enum": ["a", "b"]}, "string"),
        ({"enum": [1, 2, None]}, "bigint"),
        ({"const": True}, "boolean"),
        ({"type": "array", "items": {"type": "number"}}, "array<double>"),
        ({"type": "array"}, "string"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string,bigint>"),
        ({"type": "object"}, "string"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "double"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "string"),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}}},
                    {"type": "object", "properties": {"b": {"type": "string"}}},
                ]
            },
            "struct<a:bigint,b:string>",
        ),
        ({}, "string"),
        (TREE, "struct<v:bigint,next:string>"),
    ],
)
def test_a_json_schema_becomes_a_column(kind: Any, expected: str) -> None:
    assert column(json_schema(kind)) == expected


@pytest.mark.parametrize(
    ("kind", "value", "row"),
    [
        ({"type": "string", "format": "date-time"}, "2030-01-31T12:00:00Z", NOON),
        ({"type": "string", "format": "date-time"}, "2030-01-31T13:00:00+01:00", NOON),
        ({"type": "string", "format": "date-time"}, "2030-01-31T12:00:00", NOON),
        ({"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]}, "2030-01-31", date(2030, 1, 31)),
        ({"type": "string", "format": "decimal(9,2)"}, "1.25", Decimal("1.25")),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 7, "7"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "seven", "seven"),
        ({}, {"a": [1]}, '{"a":[1]}'),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, [("a", 1)]),
        (TREE, {"v": 1, "next": {"v": 2}}, {"v": 1, "next": '{"v":2}'}),
    ],
)
def test_a_value_of_json_becomes_a_value_of_its_column(kind: Any, value: Any, row: Any) -> None:
    assert read(json_schema(kind), value) == row


@pytest.mark.parametrize("value", ["yesterday", 7, "2030-13-01T00:00:00Z"])
def test_a_text_that_is_no_time_does_not_fit_a_timestamp(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        read(json_schema({"type": "string", "format": "date-time"}), value)


@pytest.mark.parametrize(
    ("kind", "row", "value"),
    [
        ({"type": "string", "format": "date-time"}, NOON, "2030-01-31T12:00:00Z"),
        ({"type": "string", "format": "date"}, date(2030, 1, 31), "2030-01-31"),
        ({"type": "string"}, Decimal("1.250"), "1.250"),
        ({"type": "string"}, b"\0\1", "AAE="),
        ({"type": "string"}, "{not json", "{not json"),
        ({}, '{"a":1}', {"a": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [("a", 1)], {"a": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [], {}),
        ({"type": "array", "items": {"type": "integer"}}, [], []),
        ({"type": "integer"}, None, "left out"),
        ({"type": ["integer", "null"]}, None, None),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": None}, {}),
    ],
)
def test_a_row_becomes_json(kind: Any, row: Any, value: Any) -> None:
    assert written(json_schema(kind), row) == value


TIMESTAMP = 'import "google/protobuf/timestamp.proto";'
DURATION = 'import "google/protobuf/duration.proto";'
WRAPPERS = 'import "google/protobuf/wrappers.proto";'
STRUCT = 'import "google/protobuf/struct.proto";'


@pytest.mark.parametrize(
    ("body", "imports", "expected"),
    [
        ("sint32 f = 1;", "", "int"),
        ("uint32 f = 1;", "", "bigint"),
        ("fixed64 f = 1;", "", "decimal(20,0)"),
        ("bytes f = 1;", "", "binary"),
        ("enum E { A = 0; } E f = 1;", "", "string"),
        ("repeated float f = 1;", "", "array<float>"),
        ("message I { int32 x = 1; oneof c { string a = 2; bool b = 3; } } I f = 1;", "", "struct<x:int,a:string,b:boolean>"),
        ("message I { int32 x = 1; } map<string, I> f = 1;", "", "map<string,struct<x:int>>"),
        ("google.protobuf.Timestamp f = 1;", TIMESTAMP, "timestamp"),
        ("google.protobuf.Duration f = 1;", DURATION, "bigint"),
        ("google.protobuf.Int64Value f = 1;", WRAPPERS, "bigint"),
        ("google.protobuf.Struct f = 1;", STRUCT, "string"),
        ("message N { int32 v = 1; N next = 2; } N f = 1;", "", "struct<v:int,next:string>"),
    ],
)
def test_a_protobuf_field_becomes_a_column(body: str, imports: str, expected: str) -> None:
    assert column(protobuf(body, imports)) == expected


def test_protobuf_values_become_values_of_columns_and_back() -> None:
    nested = protobuf("message N { int32 v = 1; N next = 2; } N f = 1;")
    assert read(nested, {"v": 1, "next": {"v": 2, "next": None}}) == {"v": 1, "next": '{"v":2,"next":null}'}
    assert written(nested, {"v": 1, "next": '{"v":2}'}) == {"v": 1, "next": {"v": 2}}
    assert read(protobuf("map<string, int32> f = 1;"), {"a": 1}) == [("a", 1)]
    assert written(protobuf("map<string, int32> f = 1;"), [("a", 1)]) == {"a": 1}
    assert read(protobuf("google.protobuf.Duration f = 1;", DURATION), timedelta(seconds=2)) == 2_000_000
    assert written(protobuf("google.protobuf.Duration f = 1;", DURATION), 2_000_000) == timedelta(seconds=2)
    assert written(protobuf("uint64 f = 1;"), Decimal(7)) == 7
    assert read(protobuf("enum E { A = 0; } E f = 1;"), 9) == "9", "a number that the enum does not name"


def test_a_protobuf_message_is_found_by_its_name() -> None:
    two = parse_schema(SchemaType.PROTOBUF, 'syntax = "proto3"; package a; message R { int32 x = 1; } message S { bool y = 1; }')
    assert spark_name(columns_of(two)) == "struct<x:int>"
    assert spark_name(columns_of(two, "a.S")) == "struct<y:boolean>"
    with pytest.raises(CannotRun, match=r"The schema has no message 'a\.T'\."):
        columns_of(two, "a.T")


def test_fields_without_a_default_are_required() -> None:
    assert required_columns(avro("int")) == {"f"}
    assert required_columns(parse_schema(SchemaType.JSON, '{"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}')) == {
        "b"
    }
    assert required_columns(protobuf("int32 f = 1;")) == frozenset()
