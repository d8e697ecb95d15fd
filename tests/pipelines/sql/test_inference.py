"""Columns of a topic, from a sample of its records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.pipelines.column_types import spark_name
from barnabas.pipelines.sql.inference import KAFKA_COLUMNS, ValueKind, infer
from barnabas.pipelines.sql.moments import micros_of
from barnabas.pipelines.sql.topic_offsets import SampleRecord


def columns(*values: Any) -> dict[str, str]:
    shape = infer([SampleRecord(b"k", json.dumps(each).encode()) for each in values])
    return {name: spark_name(kind) for name, kind in shape.columns if name not in KAFKA_COLUMNS}


def test_fields_get_the_types_of_their_values() -> None:
    found = columns({"i": 1, "d": 1.5, "b": True, "s": "x", "t": "2030-01-31T12:00:00Z", "n": None, "year": "1001"})
    assert found == {"b": "boolean", "d": "double", "i": "bigint", "n": "string", "s": "string", "t": "timestamp", "year": "string"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 1.5), "double"),
        ((1, None), "bigint"),
        ((1, 2**64), "decimal(20,0)"),
        ((2**64, 0.5), "double"),
        ((10**39,), "double"),
        ((1, "x"), "string"),
        (("2030-01-31", "soon"), "string"),
        (([1], [0.5, None]), "array<double>"),
        (([], None), "array<string>"),
        (({"a": 1}, {"b": [{"c": "x"}]}), "struct<a:bigint,b:array<struct<c:string>>>"),
        (({"A": 1, "a": 2},), "struct<A:bigint>"),
    ],
)
def test_types_of_one_field_are_merged(values: tuple[Any, ...], kind: str) -> None:
    assert columns(*({"f": each} for each in values)) == {"f": kind}


def test_fields_that_cannot_be_columns_are_left_out() -> None:
    assert columns({"_offset": 1, "": 2, "empty": {}, "a": 3, "nested": {"": 1}}) == {"a": "bigint"}
    assert columns({}) == {"value": "string"}


def test_values_that_are_not_json_objects_are_one_column() -> None:
    assert infer([SampleRecord(None, b"[1]"), SampleRecord(None, b"text")]).values is ValueKind.TEXT
    assert infer([SampleRecord(b"\xff", b"\xff\x00")]).values is ValueKind.BYTES
    assert infer([]).is_empty


def test_times_have_microseconds_and_zones() -> None:
    assert micros_of("1970-01-01T00:00:01.5Z") == 1_500_000
    assert micros_of("1970-01-01 02:00+02:00") == 0
    assert micros_of("1970-01-02") == 86_400_000_000
    assert [micros_of(each) for each in ("1970", "1970-02-30", "1970-01-01T25:00", "1970-01-01T00:00+19:00", "x")] == [None] * 5
