"""Parsing, canonical text and normal form of Avro schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.schema import ResolvedReference


def parse(value: Any) -> AvroSchema:
    return AvroSchema.parse(value if isinstance(value, str) else json.dumps(value))


CANONICAL = [
    # text, canonical text as Java's Avro prints it
    ('"string"', '"string"'),
    ("string", '"string"'),
    ('{"type": "string"}', '"string"'),
    ('{ "type" : "array", "items" : {"type":"int"} }', '{"type":"array","items":"int"}'),
    (
        '{"name":"R","type":"record","namespace":"a.b","fields":[{"type":"int","name":"x"}],"doc":"d"}',
        '{"type":"record","name":"R","namespace":"a.b","doc":"d","fields":[{"name":"x","type":"int"}]}',
    ),
    (
        '{"type":"record","name":"a.b.R","fields":[]}',
        '{"type":"record","name":"R","namespace":"a.b","fields":[]}',
    ),
    (
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"s","type":["null","a.R"],"default":null}]}',
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"s","type":["null","R"],"default":null}]}',
    ),
    (
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"e","type":{"type":"enum","name":"b.E","symbols":["X"]}}]}',
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"e","type":{"type":"enum","name":"E","namespace":"b","symbols":["X"]}}]}',
    ),
    (
        '{"type":"enum","default":"A","symbols":["A","B"],"name":"E","aliases":["Old","x.Older"]}',
        '{"type":"enum","name":"E","symbols":["A","B"],"default":"A","aliases":["Old","x.Older"]}',
    ),
    (
        '{"type":"fixed","size":16,"name":"F","logicalType":"uuid"}',
        '{"type":"fixed","name":"F","size":16,"logicalType":"uuid"}',
    ),
    (
        '{"type":"record","name":"R","fields":[{"name":"x","type":"int","order":"descending","aliases":["y"],"note":1}]}',
        '{"type":"record","name":"R","fields":[{"name":"x","type":"int","order":"descending","aliases":["y"],"note":1}]}',
    ),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_the_canonical_text_is_that_of_java(text: str, canonical: str) -> None:
    assert parse(text).canonical == canonical


@pytest.mark.parametrize("text", [text for text, _ in CANONICAL])
def test_the_canonical_text_is_its_own_canonical_text(text: str) -> None:
    once = parse(text)
    assert parse(once.canonical).canonical == once.canonical
    assert parse(once.normalized).normalized == once.normalized


def test_the_normal_form_ignores_the_order_of_properties() -> None:
    one = {"type": "record", "name": "R", "fields": [{"name": "x", "type": {"type": "int", "b": 1, "a": 2}}]}
    other = {"type": "record", "name": "R", "fields": [{"name": "x", "type": {"type": "int", "a": 2, "b": 1}}]}
    assert parse(one).canonical != parse(other).canonical
    assert parse(one).normalized == parse(other).normalized


def test_a_type_of_a_reference_stays_a_name() -> None:
    other = ResolvedReference("a.Other", '{"type":"record","name":"Other","namespace":"a","fields":[]}')
    schema = AvroSchema.parse('{"type":"record","name":"R","fields":[{"name":"o","type":"a.Other"}]}', [other])
    assert schema.canonical == '{"type":"record","name":"R","fields":[{"name":"o","type":"a.Other"}]}'


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{", "no JSON"),
        ('{"a":1,"a":2}', "stands twice"),
        (5, "Illegal name"),
        ("Other", "Undefined name"),
        ({"type": "record", "fields": []}, "No name"),
        ({"type": "record", "name": "R"}, "has no 'fields'"),
        ({"type": "record", "name": "R", "fields": {}}, "no list"),
        ({"type": "record", "name": "1R", "fields": []}, "Illegal name"),
        ({"type": "record", "name": "int", "fields": []}, "primitive"),
        ({"type": "record", "name": "R", "fields": [{"name": "x"}]}, "has no 'type'"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "y"}]}, "Undefined name"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int", "default": "y"}]}, "Invalid default"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int", "default": 2**31}]}, "Invalid default"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}] * 2}, "Duplicate field"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int", "order": "up"}]}, "order"),
        ({"type": "enum", "name": "E"}, "has no 'symbols'"),
        ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "twice"),
        ({"type": "enum", "name": "E", "symbols": ["A-B"]}, "Illegal symbol"),
        ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, "none of its symbols"),
        ({"type": "fixed", "name": "F"}, "size"),
        ({"type": "fixed", "name": "F", "size": -1}, "size"),
        ({"type": "array"}, "has no 'items'"),
        ({"type": "map"}, "has no 'values'"),
        ({"items": "int"}, "No type"),
        (["int", "int"], "Duplicate in union"),
        ([["int"]], "union"),
        ([{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 1}], "redefine"),
    ],
)
def test_an_invalid_schema_is_refused_with_its_reason(value: Any, reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        parse(value)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("null", None),
        ("boolean", False),
        ("int", -1),
        ("long", 2**40),
        ("float", 1),
        ("double", 1.5),
        ("bytes", "\u00ff"),
        ("string", ""),
        (["null", "int"], None),
        (["null", "int"], 3),
        ({"type": "array", "items": "int"}, []),
        ({"type": "map", "values": "int"}, {"a": 1}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "A"),
        ({"type": "fixed", "name": "F", "size": 2}, "ab"),
        ({"type": "record", "name": "N", "fields": [{"name": "x", "type": "int", "default": 1}]}, {}),
    ],
)
def test_a_default_of_its_type_is_accepted(kind: Any, default: Any) -> None:
    parse({"type": "record", "name": "R", "fields": [{"name": "x", "type": kind, "default": default}]})


def test_a_schema_that_is_too_deep_is_refused_in_time() -> None:
    with pytest.raises(SchemaTooComplex):
        parse('{"type":"array","items":' * 200 + '"int"' + "}" * 200)


def test_a_schema_that_is_too_long_is_refused() -> None:
    with pytest.raises(SchemaTooComplex, match="characters"):
        parse('"' + "x" * 1_000_001 + '"')
