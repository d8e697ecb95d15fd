"""Data as JSON that people read and write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.schemas.codec import codec_of
from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode
from barnabas.schemas.json_view import JsonView, json_view_of
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import SchemaType
from tests.unit.schemas.test_avro_codec import record, schemas_with_values


def avro(schema: Any) -> JsonView:
    return json_view_of(parse_schema(SchemaType.AVRO, json.dumps(schema)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_json_of_any_avro_data_reads_as_the_same_data(data: st.DataObject) -> None:
    schema, values = data.draw(schemas_with_values())
    payload = codec_of(parse_schema(SchemaType.AVRO, json.dumps(schema))).encode(data.draw(values))
    view = avro(schema)
    text = json.dumps(view.show(payload), allow_nan=False)
    assert view.read(json.loads(text)) == payload


@pytest.mark.parametrize(
    ("schema", "shown", "also"),
    [
        ({"type": "long", "logicalType": "timestamp-millis"}, "2026-01-01T00:00:00+00:00", 1767225600000),
        ({"type": "int", "logicalType": "date"}, "2026-01-01", 20454),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "12.50", "\u0004\u00e2"),
        ("bytes", "\u00ff\u0000", "\u00ff\u0000"),
        ("double", "NaN", "NaN"),
        (["null", "string"], "x", {"string": "x"}),
        (["null", record(("a", "int"))], {"a": 1}, {"R": {"a": 1}}),
        (["null", {"type": "array", "items": "long"}], [1], {"array": [1]}),
        (["long", "string"], "1", {"string": "1"}),
        (["string", {"type": "bytes", "logicalType": "decimal", "precision": 4}], "5", {"string": "5"}),
    ],
)
def test_avro_is_shown_for_people_and_read_in_avros_own_json_too(schema: Any, shown: Any, also: Any) -> None:
    view = avro(schema)
    payload = view.read(also)
    assert view.show(payload) == shown
    assert view.read(shown) == payload


def test_branch_that_a_record_shadows_is_the_record() -> None:
    view = avro(["null", "string", record(("string", "string"))])
    assert view.show(view.read({"string": "x"})) == {"string": "x"}


def test_time_beyond_pythons_is_a_number() -> None:
    assert avro({"type": "long", "logicalType": "timestamp-millis"}).show(avro("long").read(2**62)) == 2**62


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        (record(("a", {"type": "array", "items": "int"})), {"a": [1, "x"]}, "At a/1: the str 'x' is no int."),
        (record(("a", ["null", "int"])), {"a": "x"}, "At a: the value fits none of the branches null, int."),
        (record(("a", ["null", record(("b", "int"), name="B")])), {"a": {"b": "x"}}, "At a: the str 'x' is no int."),
        ("bytes", "\u0100", "Bytes are characters up to U+00FF in JSON."),
    ],
)
def test_json_that_does_not_fit_is_refused(schema: Any, value: Any, sentence: str) -> None:
    with pytest.raises(DoesNotEncode) as caught:
        avro(schema).read(value)
    assert str(caught.value).startswith(sentence.rpartition(": ")[0])


PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message First {}
message Order { int64 id = 1; bytes token = 2; google.protobuf.Timestamp at = 3; Status status = 4; }
enum Status { NEW = 0; PAID = 1; }
"""


def test_protobuf_is_protobufs_own_json() -> None:
    view = json_view_of(parse_schema(SchemaType.PROTOBUF, PROTO), message="Order")
    shown = {"id": "5", "token": "AP8=", "at": "2026-01-01T00:00:00Z", "status": "PAID"}
    payload = view.read({**shown, "id": 5})
    assert view.show(payload) == shown
    with pytest.raises(DoesNotEncode, match="id"):
        view.read({"id": "x"})
    with pytest.raises(DoesNotEncode, match="no message Order"):
        view.read([])
    with pytest.raises(DoesNotDecode):
        view.show(b"\x02\x02\x08")


def test_document_is_shown_as_it_is() -> None:
    view = json_view_of(parse_schema(SchemaType.JSON, '{"required": ["id"]}'))
    assert view.show(view.read({"id": 1})) == {"id": 1}
    with pytest.raises(DoesNotEncode, match="required"):
        view.read({})
