from __future__ import annotations

import sys
from typing import Any

import pytest

from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.json_text import read_json, write_json
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import SchemaType

LARGEST = sys.float_info.max


@pytest.mark.parametrize("text", ["1e400", "-1e400", '{"maximum":1e309}', "[Infinity]", "-Infinity", "NaN"])
def test_a_number_beyond_the_range_of_a_double_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e400", LARGEST), ("-1e400", -LARGEST), ("Infinity", LARGEST), ("-Infinity", -LARGEST), ("NaN", None), ("1.5", 1.5)],
)
def test_a_number_of_a_stored_text_is_read_as_one_that_can_be_written(text: str, value: Any) -> None:
    assert read_json(text, stored=True) == value
    assert read_json(write_json(value)) == value


@pytest.mark.parametrize("text", [r'"\ud800"', r'{"doc":"\uDC00"}', r'["a\udbffb"]', r'{"\ud800":1}'])
def test_half_of_a_surrogate_pair_is_refused_and_a_stored_one_stays_escaped(text: str) -> None:
    with pytest.raises(InvalidSchema, match="surrogate"):
        read_json(text)
    assert write_json(read_json(text, stored=True)) == text.lower()


def test_a_pair_of_surrogates_and_a_backslash_are_characters() -> None:
    assert read_json(r'"\ud83d\ude00"') == "😀"
    assert read_json(r'"\\ud800"') == r"\ud800"


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (SchemaType.JSON, '{"type":"number","maximum":Infinity}'),
        (SchemaType.AVRO, '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":Infinity}]}'),
        (SchemaType.AVRO, '{"type":"fixed","name":"F","size":1099511627776}'),
    ],
)
def test_a_schema_that_an_older_registry_stored_is_read(type_: SchemaType, text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse_schema(type_, text)
    stored = parse_schema(type_, text, stored=True)
    assert parse_schema(type_, stored.canonical, stored=True).canonical == stored.canonical
    assert "Infinity" not in stored.canonical
