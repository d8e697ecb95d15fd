"""Which Avro schemas can read the data of which: rule by rule, and against fastavro's reader."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings, strategies as st

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.schema import ResolvedReference

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
READABLE = {
    ("long", "int"),
    ("float", "int"),
    ("double", "int"),
    ("float", "long"),
    ("double", "long"),
    ("double", "float"),
    ("bytes", "string"),
    ("string", "bytes"),
}


def schema(value: Any) -> AvroSchema:
    return AvroSchema.parse(value if isinstance(value, str) and value[:1] in '{["' else json.dumps(value))


def record(*fields: Any, name: str = "R", **rest: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **rest}


def field(name: str, kind: Any = "int", **rest: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **rest}


def enum(*symbols: str, name: str = "E", **rest: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **rest}


def fixed(size: int, name: str = "F", **rest: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **rest}


def kinds(reader: Any, writer: Any) -> list[str]:
    return [difference.kind for difference in schema(reader).unreadable(schema(writer))]


@pytest.mark.parametrize("reader", PRIMITIVES)
@pytest.mark.parametrize("writer", PRIMITIVES)
def test_a_primitive_is_read_as_itself_or_as_a_wider_one(reader: str, writer: str) -> None:
    readable = reader == writer or (reader, writer) in READABLE
    assert kinds({"type": reader}, {"type": writer}) == ([] if readable else ["TYPE_MISMATCH"])


MISSING, MISMATCH = "READER_FIELD_MISSING_DEFAULT_VALUE", "TYPE_MISMATCH"
CASES: list[tuple[str, Any, Any, list[str]]] = [
    # claim, reader, writer, differences
    ("a field with a default is added", record(field("a"), field("b", default=1)), record(field("a")), []),
    ("a field without a default is added", record(field("a"), field("b")), record(field("a")), [MISSING]),
    ("a field with the default null is added", record(field("a", ["null", "int"], default=None)), record(), []),
    ("a field is removed", record(field("a")), record(field("a"), field("b")), []),
    ("fields change their order", record(field("a"), field("b")), record(field("b"), field("a")), []),
    ("a field is widened", record(field("a", "long")), record(field("a", "int")), []),
    ("a field is narrowed", record(field("a", "int")), record(field("a", "long")), [MISMATCH]),
    ("a field is renamed", record(field("b")), record(field("a")), [MISSING]),
    ("a field is renamed with an alias", record(field("b", aliases=["a"])), record(field("a")), []),
    ("two fields are missing", record(field("b"), field("c")), record(), [MISSING, MISSING]),
    ("a record is renamed", record(name="S"), record(name="R"), ["NAME_MISMATCH"]),
    ("a record is renamed with an alias", record(name="S", aliases=["R"]), record(name="R"), []),
    ("a record changes its namespace", record(namespace="a"), record(namespace="b"), []),
    ("an alias names another namespace", record(name="S", namespace="a", aliases=["b.R"]), record(namespace="b"), []),
    ("a record becomes a map", {"type": "map", "values": "int"}, record(), [MISMATCH]),
    ("an enum gets a symbol", enum("A", "B"), enum("A"), []),
    ("an enum loses a symbol", enum("A"), enum("A", "B"), ["MISSING_ENUM_SYMBOLS"]),
    ("an enum with a default loses a symbol", enum("A", default="A"), enum("A", "B"), []),
    ("an enum is renamed", enum("A", name="G"), enum("A"), ["NAME_MISMATCH"]),
    ("an enum changes its order", enum("B", "A"), enum("A", "B"), []),
    ("a fixed type changes its size", fixed(8), fixed(4), ["FIXED_SIZE_MISMATCH"]),
    ("a fixed type keeps its size", fixed(4), fixed(4), []),
    ("a fixed type is renamed", fixed(4, "G"), fixed(4), ["NAME_MISMATCH"]),
    ("fixed becomes bytes", {"type": "bytes"}, fixed(4), [MISMATCH]),
    ("an array is widened", {"type": "array", "items": "long"}, {"type": "array", "items": "int"}, []),
    ("an array is narrowed", {"type": "array", "items": "int"}, {"type": "array", "items": "long"}, [MISMATCH]),
    ("a map is widened", {"type": "map", "values": "double"}, {"type": "map", "values": "float"}, []),
    ("a map is narrowed", {"type": "map", "values": "float"}, {"type": "map", "values": "double"}, [MISMATCH]),
    ("an array becomes a map", {"type": "map", "values": "int"}, {"type": "array", "items": "int"}, [MISMATCH]),
    ("a type becomes a union with it", ["null", "int"], {"type": "int"}, []),
    ("a type becomes a union with a wider one", ["null", "long"], {"type": "int"}, []),
    ("a type becomes a union without it", ["null", "string"], {"type": "int"}, ["MISSING_UNION_BRANCH"]),
    ("a union gets a branch", ["null", "int", "string"], ["null", "int"], []),
    ("a union loses a branch", ["null", "int"], ["null", "int", "string"], ["MISSING_UNION_BRANCH"]),
    ("a union changes its order", ["int", "null"], ["null", "int"], []),
    ("a union of one becomes the type", {"type": "int"}, ["int"], []),
    ("a union of readable branches becomes a type", {"type": "long"}, ["int", "long"], []),
    ("a union with null becomes a type", {"type": "int"}, ["null", "int"], [MISMATCH]),
    ("a branch is widened", ["null", "double"], ["null", "float"], []),
    ("two branches are lost", ["null"], ["null", "int", "string"], ["MISSING_UNION_BRANCH", "MISSING_UNION_BRANCH"]),
    ("documentation changes", record(field("a", doc="x"), doc="y"), record(field("a")), []),
    ("a default changes", record(field("a", default=2)), record(field("a", default=1)), []),
    ("a logical type changes", {"type": "long", "logicalType": "timestamp-millis"}, {"type": "long"}, []),
    ("a nested field is added", record(field("n", record(field("x"), name="N"))), record(field("n", record(name="N"))), [MISSING]),
    (
        "a nested field with a default is added",
        record(field("n", record(field("x", default=0), name="N"))),
        record(field("n", record(name="N"))),
        [],
    ),
    (
        "an enum inside a map loses a symbol",
        {"type": "map", "values": enum("A")},
        {"type": "map", "values": enum("A", "B")},
        ["MISSING_ENUM_SYMBOLS"],
    ),
    ("a recursive record stays", record(field("next", ["null", "R"])), record(field("next", ["null", "R"])), []),
    (
        "a recursive record gets a field",
        record(field("next", ["null", "R"]), field("x")),
        record(field("next", ["null", "R"])),
        [MISSING],
    ),
]


@pytest.mark.parametrize(("reader", "writer", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_change_has_the_differences_of_its_rule(reader: Any, writer: Any, expected: list[str]) -> None:
    assert kinds(reader, writer) == expected


def test_a_difference_names_its_path() -> None:
    (difference,) = schema(record(field("a"), field("n", record(field("x"), name="N")))).unreadable(
        schema(record(field("a"), field("n", record(name="N"))))
    )
    assert difference.path == "/fields/1/type/fields/0"
    assert "'x'" in difference.sentence


def test_a_type_of_a_reference_is_compared_too() -> None:
    old = AvroSchema.parse(json.dumps(record(field("a", "Other"))), [ResolvedReference("Other", json.dumps(record(name="Other")))])
    other = json.dumps(record(field("x"), name="Other"))
    new = AvroSchema.parse(json.dumps(record(field("a", "Other"))), [ResolvedReference("Other", other)])
    assert [difference.kind for difference in new.unreadable(old)] == [MISSING]


_types = st.recursive(
    st.sampled_from([{"type": name} for name in PRIMITIVES if name != "null"]),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda values: {"type": "map", "values": values}, inner),
        st.builds(lambda branch: ["null", branch], inner.filter(lambda each: not isinstance(each, list))),
    ),
    max_leaves=3,
)


@st.composite
def _records(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from("abcd"), unique=True))
    return record(*(field(name, draw(_types)) for name in names))


def _value(kind: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    match kind:
        case list():
            return draw(st.one_of(st.none(), st.just(_value(kind[1], draw))))
        case {"type": "array", "items": items}:
            return [_value(items, draw) for _ in range(draw(st.integers(1, 2)))]
        case {"type": "map", "values": values}:
            return {"k": _value(values, draw)}
        case {"type": "record", "fields": fields}:
            return {each["name"]: _value(each["type"], draw) for each in fields}
    return {"boolean": True, "int": 7, "long": 8, "float": 1.5, "double": 2.5, "bytes": b"x", "string": "y"}[kind["type"]]


@settings(max_examples=300, deadline=None)
@given(_records(), _records(), st.data())
def test_fastavro_reads_everything_that_counts_as_readable(reader: dict[str, Any], writer: dict[str, Any], data: st.DataObject) -> None:
    if schema(reader).unreadable(schema(writer)):
        return
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(writer), _value(writer, data.draw))
    buffer.seek(0)
    fastavro.schemaless_reader(buffer, fastavro.parse_schema(writer), fastavro.parse_schema(reader))
