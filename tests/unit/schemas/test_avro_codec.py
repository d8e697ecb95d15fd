"""Data of Avro schemas, beside fastavro, which shares no code with ours."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest
from hypothesis import given, settings, strategies as st

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.codec import Codec, codec_of
from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema
from barnabas.schemas.limits import DATA_DEPTH_MAX
from barnabas.schemas.schema import ResolvedReference


def codec(schema: Any, reader: Any = None, *, logical_types: bool = True) -> Codec:
    return codec_of(parsed(schema), parsed(reader) if reader is not None else None, logical_types=logical_types)


def parsed(schema: Any) -> AvroSchema:
    return AvroSchema.parse(json.dumps(schema))


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [dict(zip(("name", "type", "default"), each, strict=False)) for each in fields],
        **more,
    }


def by_fastavro(schema: Any, value: Any) -> bytes:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), value)
    return written.getvalue()


# -- any schema with any data, beside fastavro -----------------------------------------------------

longs = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", longs),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=8)),
    ("string", texts),
    ({"type": "fixed", "name": "F", "size": 3}, st.binary(min_size=3, max_size=3)),
    ({"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}, st.sampled_from("ABC")),
    ({"type": "int", "logicalType": "date"}, st.dates()),
    ({"type": "long", "logicalType": "time-micros"}, st.times()),
    ({"type": "long", "logicalType": "timestamp-micros"}, st.datetimes(timezones=st.just(UTC))),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, st.datetimes()),
    ({"type": "string", "logicalType": "uuid"}, st.uuids()),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
        st.integers(-(10**12) + 1, 10**12 - 1).map(lambda unscaled: Decimal(unscaled).scaleb(-3)),
    ),
]


def renamed(schema: Any, number: int) -> Any:
    """Named types must differ within one schema."""
    return {**schema, "name": f"{schema['name']}{number}"} if isinstance(schema, dict) and "name" in schema else schema


@st.composite
def schemas_with_values(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    counter = [0]

    def leaf() -> tuple[Any, st.SearchStrategy[Any]]:
        counter[0] += 1
        schema, values = draw(st.sampled_from(LEAVES))
        return renamed(schema, counter[0]), values

    def grown(left: int) -> tuple[Any, st.SearchStrategy[Any]]:
        kind = draw(st.sampled_from(["leaf", "array", "map", "record", "optional"])) if left else "leaf"
        if kind == "leaf":
            return leaf()
        if kind == "array":
            inner, values = grown(left - 1)
            return {"type": "array", "items": inner}, st.lists(values, max_size=3)
        if kind == "map":
            inner, values = grown(left - 1)
            return {"type": "map", "values": inner}, st.dictionaries(texts, values, max_size=3)
        if kind == "optional":
            inner, values = grown(left - 1)
            if inner == "null" or isinstance(inner, list):
                return inner, values
            return ["null", inner], st.none() | values
        counter[0] += 1
        name = f"R{counter[0]}"
        inners = [grown(left - 1) for _ in range(draw(st.integers(0, 3)))]
        fields = [{"name": f"f{index}", "type": inner} for index, (inner, _) in enumerate(inners)]
        shape = {f"f{index}": values for index, (_, values) in enumerate(inners)}
        return {"type": "record", "name": name, "fields": fields}, st.fixed_dictionaries(shape)

    return grown(depth)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_value_has_the_bytes_of_fastavro_and_comes_back(data: st.DataObject) -> None:
    schema, values = data.draw(schemas_with_values())
    value = data.draw(values)
    ours = codec(schema)
    written = ours.encode(value)
    assert written == by_fastavro(schema, value)
    assert ours.decode(written) == value
    assert fastavro.schemaless_reader(io.BytesIO(written), fastavro.parse_schema(schema), None) == value


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_bytes_decode_or_are_refused(data: st.DataObject) -> None:
    schema, _ = data.draw(schemas_with_values())
    with suppress(DoesNotDecode):
        codec(schema).decode(data.draw(st.binary(max_size=60)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_data_cut_short_is_refused(data: st.DataObject) -> None:
    schema, values = data.draw(schemas_with_values())
    written = codec(schema).encode(data.draw(values))
    for end in range(len(written)):
        with pytest.raises(DoesNotDecode):
            codec(schema).decode(written[:end])
    with pytest.raises(DoesNotDecode, match="1 bytes follow the data"):
        codec(schema).decode(written + b"\x00")


# -- hostile bytes ---------------------------------------------------------------------------------

LISTS_OF_NULLS = {"type": "array", "items": {"type": "array", "items": "null"}}
LINKED = record(("value", "long"), ("next", ["null", "R"]))


@pytest.mark.parametrize(
    ("schema", "payload", "reason"),
    [
        (LINKED, b"\x00\x02" * 1_000_000, f"nested more than {DATA_DEPTH_MAX} deep"),
        (record(("all", {"type": "array", "items": "R"})), b"\x02" * 1_000_000, f"nested more than {DATA_DEPTH_MAX} deep"),
        ({"type": "array", "items": "null"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "items without bytes"),
        (LISTS_OF_NULLS, b"\x14" + b"\xa0\x9c\x01\x00" * 10 + b"\x00", None),
        (LISTS_OF_NULLS, b"\x28" + b"\xa0\x9c\x01\x00" * 20 + b"\x00", "items without bytes"),
        ({"type": "array", "items": "long"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "claims 9223372036854775807 items"),
        ("string", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01a", "claims 9223372036854775807 bytes, and 1 are left"),
        ("bytes", b"\x01", "claims -1 bytes"),
        ("long", b"\xff" * 10 + b"\x01", "more than ten bytes"),
        ("long", b"\xff" * 9 + b"\x7f", "more than 64 bits"),
        ("int", b"\xfe\xff\xff\xff\xff\x01", "no int of 32 bits"),
        ("boolean", b"\x02", "a boolean is 0 or 1, and not 2"),
        ("string", b"\x04\xff\xfe", "no UTF-8"),
        (["null", "long"], b"\x01", "names branch -1"),
        (["null", "long"], b"\x04", "names branch 2"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01", "names number -1"),
        ({"type": "long", "logicalType": "timestamp-millis"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "no timestamp-millis"),
        ({"type": "string", "logicalType": "uuid"}, b"\x02x", "no uuid"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, b"\xa0\x9c\x01" + b"\x7f" * 10_000, "no decimal"),
        ({"type": "int", "logicalType": "time-millis"}, b"\x01", "not within a day"),
    ],
)  # fmt: skip
def test_hostile_bytes_are_refused_with_a_reason(schema: Any, payload: bytes, reason: str | None) -> None:
    if reason is None:
        codec(schema).decode(payload)
        return
    with pytest.raises(DoesNotDecode) as caught:
        codec(schema).decode(payload)
    assert reason in caught.value.reason


def test_error_of_bytes_names_the_path() -> None:
    schema = record(("lines", {"type": "array", "items": record(("price", "boolean"), name="Line")}))
    with pytest.raises(DoesNotDecode) as caught:
        codec(schema).decode(b"\x04\x01\x07\x00")
    assert str(caught.value) == "At lines/1/price: a boolean is 0 or 1, and not 7."


def test_data_without_logical_types_is_all_that_the_bytes_say() -> None:
    never = {"type": "long", "logicalType": "timestamp-millis"}
    payload = codec("long").encode(2**63 - 1)
    assert codec(never, logical_types=False).decode(payload) == 2**63 - 1


def test_blocks_with_sizes_are_read() -> None:
    assert codec({"type": "array", "items": "int"}).decode(b"\x03\x04\x02\x04\x00") == [1, 2]


# -- values that do not fit ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ("int", 2**31, "The number is no int, which has 32 bits."),
        ("long", True, "The bool True is no long."),
        ("long", "1", "The str '1' is no long."),
        ("float", 1e39, "The number is too large for a float."),
        pytest.param("double", 10**400, "The number is too large for a double.", id="huge"),
        ("string", b"x", "The bytes b'x' is no string."),
        ("string", "\ud800", "The text has half a surrogate pair, which UTF-8 cannot have."),
        ("null", 0, "The int 0 is no null."),
        (record(("a", "int")), {}, "At a: the field is missing in the record R, and has no default."),
        (record(("a", "int")), {"a": 1, "b": 2}, "The record R has no field b."),
        (record(("a", "int")), None, "None is no record R."),
        (record(("a", {"type": "map", "values": {"type": "array", "items": "int"}})), {"a": {"k": [1, None]}}, "At a/k/1: None is no int."),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "C", "The str 'C' is none of the symbols A, B."),
        ({"type": "fixed", "name": "F", "size": 2}, b"x", "The fixed has 2 bytes, and the value 1."),
        (["null", "int"], 2**31, "The number is no int, which has 32 bits."),
        (["int", "string"], [], "A value of type list fits none of the branches int, string."),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            datetime(2026, 1, 1),  # noqa: DTZ001
            "The value is no timestamp-millis: the datetime 2026-01-01T00:00:00 has no time zone, so it is no timestamp-millis.",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            Decimal("1.234"),
            "The value is no decimal: 1.234 has more than 2 digits after the point.",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            Decimal("123.45"),
            "The value is no decimal: 123.45 has more than 4 digits.",
        ),
    ],
)
def test_value_that_does_not_fit_is_refused_with_path_and_reason(schema: Any, value: Any, sentence: str) -> None:
    with pytest.raises(DoesNotEncode) as caught:
        codec(schema).encode(value)
    assert str(caught.value) == sentence


def test_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {"value": 1}
    value["next"] = value
    with pytest.raises(DoesNotEncode, match="nested more than"):
        codec(LINKED).encode(value)


# -- unions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("branches", "value", "index"),
    [
        (["double", "long"], 1, 1),
        (["long", "double"], 1.0, 1),
        (["double", "boolean"], True, 1),
        (["bytes", "string"], "x", 1),
        (["string", {"type": "enum", "name": "E", "symbols": ["A"]}], ("E", "A"), 1),
        (["null", record(("a", "int"), name="A"), record(("b", "int"), name="B")], {"b": 1}, 2),
        (["null", {"type": "string", "logicalType": "uuid"}], UUID(int=1), 1),
        (["string", {"type": "int", "logicalType": "date"}], date(2026, 1, 1), 1),
        (["null", "double"], 1, 1),
    ],
)
def test_union_takes_the_branch_of_the_values_type(branches: Any, value: Any, index: int) -> None:
    assert codec(branches).encode(value)[0] == index << 1


# -- logical types ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        ({"type": "int", "logicalType": "date"}, date(1969, 12, 31), -1),
        ({"type": "int", "logicalType": "time-millis"}, time(0, 0, 1, 5000), 1005),
        ({"type": "long", "logicalType": "timestamp-millis"}, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1000),
        ({"type": "long", "logicalType": "timestamp-millis"}, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), -1000),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 5, 5),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Decimal("-1.27"), b"\x81"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Decimal("0.00"), b"\x00"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 0}, b"x", b"x"),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4}, Decimal(-2), b"\xff\xfe"),
        ({"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}, UUID(int=1), UUID(int=1).bytes),
    ],
)
def test_logical_type_stands_in_its_data(schema: dict[str, Any], value: Any, data: Any) -> None:
    plain = {name: each for name, each in schema.items() if name != "logicalType"}
    written = codec(schema).encode(value)
    assert written == codec(plain).encode(data)
    assert codec(schema).decode(written) == value
    assert codec(schema, logical_types=False).decode(written) == data
    # Data is taken as it is, too.
    assert codec(schema).encode(data) == written


def test_timestamp_of_another_zone_is_the_same_moment() -> None:
    timestamp = codec({"type": "long", "logicalType": "timestamp-micros"})
    there = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    assert timestamp.decode(timestamp.encode(there)) == datetime(2026, 1, 1, tzinfo=UTC)


# -- evolution: an old writer and a new reader -----------------------------------------------------

EVOLUTIONS: list[tuple[str, Any, Any, Any, Any]] = [
    ("field with a default", record(("a", "int")), {"a": 1}, record(("a", "int"), ("b", "string", "x")), {"a": 1, "b": "x"}),
    ("default of null", record(("a", "int")), {"a": 1}, record(("b", ["null", "int"], None), ("a", "int")), {"b": None, "a": 1}),
    ("default of bytes", record(), {}, record(("b", "bytes", "\u00ff")), {"b": b"\xff"}),
    ("default of a record", record(), {}, record(("b", record(("x", "int", 3), name="B"), {})), {"b": {"x": 3}}),
    (
        "default of a logical type",
        record(),
        {},
        record(("b", {"type": "int", "logicalType": "date"}, 1)),
        {"b": date(1970, 1, 2)},
    ),
    ("field removed", record(("a", "string"), ("b", "int")), {"a": "x", "b": 1}, record(("b", "int")), {"b": 1}),
    ("order of fields", record(("a", "int"), ("b", "int")), {"a": 1, "b": 2}, record(("b", "int"), ("a", "int")), {"b": 2, "a": 1}),
    ("int to long", "int", 1, "long", 1),
    ("int to double", "int", 1, "double", 1.0),
    ("long to float", "long", 1, "float", 1.0),
    ("string to bytes", "string", "é", "bytes", "é".encode()),
    ("bytes to string", "bytes", b"x", "string", "x"),
    ("to a union", "int", 1, ["null", "long"], 1),
    ("from a union", ["null", "int"], 1, "long", 1),
    ("union in another order", ["null", "int"], 1, ["int", "null"], 1),
    (
        "symbol that the reader does not know",
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        "B",
        {"type": "enum", "name": "E", "symbols": ["A", "U"], "default": "U"},
        "U",
    ),
    (
        "renamed field",
        record(("a", "int")),
        {"a": 1},
        {"type": "record", "name": "R", "fields": [{"name": "b", "type": "int", "aliases": ["a"]}]},
        {"b": 1},
    ),
    ("record of another name", record(("a", "int"), name="Old"), {"a": 1}, record(("a", "int"), name="New"), {"a": 1}),
    ("items promoted", {"type": "array", "items": "int"}, [1], {"type": "array", "items": "double"}, [1.0]),
    ("values promoted", {"type": "map", "values": "int"}, {"k": 1}, {"type": "map", "values": "long"}, {"k": 1}),
    (
        "recursive type with a new field",
        LINKED,
        {"value": 1, "next": {"value": 2, "next": None}},
        record(("value", "long"), ("next", ["null", "R"]), ("more", "int", 0)),
        {"value": 1, "next": {"value": 2, "next": None, "more": 0}, "more": 0},
    ),
]


@pytest.mark.parametrize(("writer", "written", "reader", "read"), [each[1:] for each in EVOLUTIONS], ids=[each[0] for each in EVOLUTIONS])
def test_reader_gets_old_data_in_its_own_shape(writer: Any, written: Any, reader: Any, read: Any) -> None:
    found: Any = codec(writer, reader).decode(codec(writer).encode(written))
    assert found == read
    assert type(found) is type(read)
    if isinstance(found, dict):
        assert list(found) == list(read)


@pytest.mark.parametrize(
    ("writer", "reader", "reason"),
    [
        ("string", "int", "The type int cannot read string"),
        (record(), record(("a", "int")), "The field a of R is not in the writer's schema and has no default"),
        ("int", ["null", "string"], "No branch of the reader's union reads int"),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}, "has 3 bytes, and the writer's 2"),
    ],
)
def test_reader_that_can_never_read_the_data_is_refused_at_once(writer: Any, reader: Any, reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        codec(writer, reader)


def test_branch_that_the_reader_does_not_know_is_refused_when_it_comes() -> None:
    read = codec(["int", "string"], "int")
    assert read.decode(b"\x00\x02") == 1
    with pytest.raises(DoesNotDecode, match="The type int cannot read string"):
        read.decode(b"\x02\x02x")


def test_symbol_without_a_default_is_refused_when_it_comes() -> None:
    read = codec({"type": "enum", "name": "E", "symbols": ["A", "B"]}, {"type": "enum", "name": "E", "symbols": ["A"]})
    assert read.decode(b"\x00") == "A"
    with pytest.raises(DoesNotDecode, match="no symbol B"):
        read.decode(b"\x02")


def test_default_of_a_list_is_a_new_list_for_each_value() -> None:
    read = codec(record(), record(("tags", {"type": "array", "items": "string"}, ["a"])))
    first: Any = read.decode(b"")
    first["tags"].append("b")
    assert read.decode(b"") == {"tags": ["a"]}


def test_missing_field_is_written_with_its_default() -> None:
    ours = codec(record(("a", "int", 7), ("b", ["null", "bytes"], None), ("c", "bytes", "\u00fe")))
    assert ours.decode(ours.encode({})) == {"a": 7, "b": None, "c": b"\xfe"}


def test_types_of_references_are_known() -> None:
    money = json.dumps(record(("amount", "long"), name="Money", namespace="bank"))
    payment = AvroSchema.parse(json.dumps(record(("money", "bank.Money"))), [ResolvedReference("bank.Money", money)])
    ours = codec_of(payment)
    assert ours.decode(ours.encode({"money": {"amount": 5}})) == {"money": {"amount": 5}}
