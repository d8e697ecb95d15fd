"""Documents of JSON Schemas."""

from __future__ import annotations

import json
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.schemas.codec import Codec, codec_of
from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.limits import DATA_DEPTH_MAX
from barnabas.schemas.schema import ResolvedReference

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "lines": {"type": "array", "items": {"type": "object", "required": ["price"]}}},
    "required": ["id"],
}


def codec(schema: Any, *references: ResolvedReference, reader: Any = None) -> Codec:
    return codec_of(JsonSchema.parse(json.dumps(schema), references), JsonSchema.parse(json.dumps(reader)) if reader is not None else None)


def test_valid_document_comes_back() -> None:
    value = {"id": 1, "lines": [{"price": 1.5}], "note": "é"}
    assert codec(ORDER).encode(value) == '{"id":1,"lines":[{"price":1.5}],"note":"é"}'.encode()
    assert codec(ORDER).decode(codec(ORDER).encode(value)) == value


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b'{"id":"x"}', 'At id: "x" is not of type "integer".'),
        (b'{"id":1,"lines":[{"price":1},{}]}', 'At lines/1: "price" is a required property.'),
        (b'{"id":1}x', "The document is no JSON: Extra data: line 1 column 9 (char 8)."),
        (b"", "The document is no JSON: Expecting value: line 1 column 1 (char 0)."),
        (b"\xff", "The document is no UTF-8."),
        (b'{"id":NaN}', "NaN is no JSON."),
        (b'{"id":' + b"1" * 10_000 + b"}", "The document has a number with too many digits."),
        (b"[" * 1_000_000, f"The document is nested more than {DATA_DEPTH_MAX} deep."),
        (b'{"a":' * 1_000_000, f"The document is nested more than {DATA_DEPTH_MAX} deep."),
    ],
)
def test_document_that_is_not_valid_is_refused_with_path_and_reason(payload: bytes, sentence: str) -> None:
    with pytest.raises(DoesNotDecode) as caught:
        codec(ORDER).decode(payload)
    assert str(caught.value) == sentence


def test_brackets_in_texts_are_not_nesting() -> None:
    assert codec({}).decode(json.dumps(["[" * 1000, '\\"[' * 1000]).encode()) == ["[" * 1000, '\\"[' * 1000]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=50) | st.text(st.sampled_from('[]{}",:\\e1-truefalsn'), max_size=40).map(str.encode))
def test_any_bytes_are_a_document_or_refused(payload: bytes) -> None:
    with suppress(DoesNotDecode):
        codec({}).decode(payload)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"id": "x"}, 'At id: "x" is not of type "integer".'),
        ({"id": 1, "at": object()}, "The value is no JSON: Object of type object is not JSON serializable."),
        ({"id": float("nan")}, "The value is no JSON: Out of range float values are not JSON compliant"),
        ({"id": 1, "t": "\ud800"}, "A text has half a surrogate pair, which UTF-8 cannot have."),
    ],
)
def test_value_that_is_not_valid_is_refused(value: Any, sentence: str) -> None:
    with pytest.raises(DoesNotEncode) as caught:
        codec(ORDER).encode(value)
    assert str(caught.value).startswith(sentence)


def test_reader_wants_its_own_schema_to_hold() -> None:
    written = codec({}).encode({"id": "x"})
    with pytest.raises(DoesNotDecode, match="At id"):
        codec({}, reader=ORDER).decode(written)


def test_references_are_known_by_name_and_by_address() -> None:
    money = ResolvedReference("money.json", '{"type": "integer"}')
    for own in ({}, {"$id": "https://bank.example/schemas/order.json"}):
        referring = codec({**own, "properties": {"a": {"$ref": "money.json"}}}, money)
        assert referring.decode(b'{"a":1}') == {"a": 1}
        with pytest.raises(DoesNotDecode, match="At a"):
            referring.decode(b'{"a":"x"}')


def test_schema_without_a_draft_is_of_draft_7() -> None:
    pair = codec({"items": [{"type": "integer"}, {"type": "string"}]})
    assert pair.decode(b'[1,"x"]') == [1, "x"]
    with pytest.raises(DoesNotDecode):
        pair.decode(b'["x",1]')


def test_schema_of_another_draft_means_what_that_draft_says() -> None:
    pair = codec({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "integer"}]})
    with pytest.raises(DoesNotDecode):
        pair.decode(b'["x"]')


def test_schema_that_refers_to_itself_ends() -> None:
    assert codec({"allOf": [{"$ref": "#"}]}).decode(b"1") == 1
    tree = codec({"properties": {"child": {"$ref": "#"}}, "required": ["id"]})
    with pytest.raises(DoesNotDecode, match="At child/child"):
        tree.decode(b'{"id":1,"child":{"id":2,"child":{}}}')


def doubling(count: int, keyword: str) -> Any:
    """Each definition leads to the next one in two ways."""

    def definition(index: int) -> Any:
        following = {"$ref": f"#/definitions/d{index + 1}"}
        return {keyword: [following, following]} if keyword != "properties" else {"anyOf": [{keyword: {"a": following}}] * 2}

    definitions = {f"d{index}": definition(index) for index in range(count)}
    return {"definitions": {**definitions, f"d{count}": {"type": "string"}}, "$ref": "#/definitions/d0"}


RECURSIVE_TWICE = {
    "anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["x"]}, {"properties": {"a": {"$ref": "#"}}, "required": ["y"]}]
}


@pytest.mark.parametrize(
    ("schema", "depth"),
    [(doubling(30, "anyOf"), 0), (doubling(30, "allOf"), 0), (doubling(30, "properties"), 30), (RECURSIVE_TWICE, 90)],
)
def test_schema_whose_ways_double_ends_in_bounded_time(schema: Any, depth: int) -> None:
    with pytest.raises(DoesNotDecode, match="steps"):
        codec(schema).decode(b'{"a":' * depth + b"1" + b"}" * depth)


def test_recursive_schema_reads_documents_of_usual_size() -> None:
    tree = codec({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}})

    def grown(depth: int) -> Any:
        return {"left": grown(depth - 1), "right": grown(depth - 1)} if depth else {}

    assert tree.decode(tree.encode(grown(10))) == grown(10)
    assert codec(RECURSIVE_TWICE).decode(b'{"a":{"x":1,"a":{"y":1}},"x":1}') is not None
    assert codec(doubling(8, "anyOf")).decode(b'"x"') == "x"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=(a+)+b)(a+)+$"])
def test_regular_expression_ends_in_bounded_time(pattern: str) -> None:
    hostile = codec({"pattern": pattern})
    started = monotonic()
    with suppress(DoesNotDecode):
        hostile.decode(b'"' + b"a" * 5_000 + b'!"')
    assert monotonic() - started < 20
