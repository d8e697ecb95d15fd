"""Messages of Protobuf schemas, beside classes that the library makes from a compiled file."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.type_pb2 import Field, Type
from hypothesis import given, settings, strategies as st

from barnabas.schemas.codec import Codec, codec_of
from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema
from barnabas.schemas.protobuf.builtin_files import builtin_descriptor
from barnabas.schemas.protobuf.descriptor_text import text_of_descriptor
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ResolvedReference

SHOP = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "money.proto";
message Order {
  int64 id = 1;
  repeated Line lines = 2;
  map<string, Line> by_name = 3;
  google.protobuf.Timestamp at = 4;
  optional int32 rating = 5;
  Status status = 6;
  bank.Money total = 7;
  oneof payment { string card = 8; bytes token = 9; }
  google.protobuf.Duration takes = 10;
  google.protobuf.StringValue note = 11;
  google.protobuf.Struct extra = 12;
  repeated Status history = 13;
  Order parent = 14;
  message Line { string name = 1; double price = 2; message Deep { bool deep = 1; } }
}
message Receipt { string text = 1; }
enum Status { NEW = 0; PAID = 1; }
"""
MONEY = ResolvedReference("money.proto", 'syntax = "proto3"; package bank; message Money { sint64 amount = 1; }')
EMPTY = {
    "id": 0, "lines": [], "by_name": {}, "at": None, "rating": None, "status": "NEW", "total": None, "card": None, "token": None,
    "takes": None, "note": None, "extra": None, "history": [], "parent": None,
}  # fmt: skip
FULL = {
    "id": 2**62, "lines": [{"name": "a", "price": 1.5}], "by_name": {"b": {"name": "b", "price": 0.0}},
    "at": datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC), "rating": 0, "status": "PAID", "total": {"amount": -5}, "card": None,
    "token": b"\x00\xff", "takes": timedelta(seconds=-1, microseconds=-5), "note": "n", "extra": {"a": [1.0, None, {"b": True}], "c": "d"},
    "history": ["NEW", "PAID"], "parent": EMPTY,
}  # fmt: skip


def shop(message: str | None = None, *, reader: str | None = None, logical_types: bool = True) -> Codec:
    read = ProtobufSchema.parse(reader) if reader is not None else None
    return codec_of(ProtobufSchema.parse(SHOP, [MONEY]), read, message=message, logical_types=logical_types)


@pytest.mark.parametrize("value", [EMPTY, FULL])
def test_message_comes_back_as_a_dict_of_all_its_fields(value: Any) -> None:
    assert shop().decode(shop().encode(value)) == value


def test_absent_fields_are_missing_or_none() -> None:
    assert shop().decode(shop().encode({})) == EMPTY


def test_message_is_chosen_by_its_indexes() -> None:
    for message, payload in (("shop.Order", b"\x00"), ("shop.Receipt", b"\x02\x02"), ("shop.Order.Line.Deep", b"\x06\x00\x00\x00")):
        assert shop(message).encode({}) == payload
    assert shop().decode(b"\x02\x02\x0a\x01x") == {"text": "x"}
    assert shop().decode(b"\x06\x00\x00\x00\x08\x01") == {"deep": True}


def test_message_that_the_schema_does_not_have_cannot_be_written() -> None:
    with pytest.raises(InvalidSchema, match=r"The schema has no message shop\.Nothing"):
        shop("shop.Nothing")


def test_unknown_number_of_an_enum_stays_a_number() -> None:
    decoded: Any = shop().decode(b"\x00\x30\x07")
    assert decoded["status"] == 7
    assert shop().encode(decoded) == b"\x00\x30\x07"


def test_message_without_logical_types_has_the_fields_of_the_bytes() -> None:
    far = b"\x00\x22\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x05"  # a time beyond Python's
    decoded: Any = shop(logical_types=False).decode(far)
    assert decoded["at"] == {"seconds": 2**63 - 1, "nanos": 5}
    with pytest.raises(DoesNotDecode, match="At at: the timestamp"):
        shop().decode(far)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"id": "x"}, "At id: the str 'x' is no int64."),
        ({"id": 2**63}, "At id: the int 9223372036854775808 is no int64."),
        ({"rating": 2**31}, "At rating: the int 2147483648 is no int32."),
        ({"lines": [{}, {"price": "x"}]}, "At lines/1/price: the str 'x' is no double."),
        ({"lines": 1}, "At lines: a value of type int is no list."),
        ({"by_name": {"k": {"name": 1}}}, "At by_name/k/name: the int 1 is no string."),
        ({"total": 5}, "At total: a value of type int is no message bank.Money."),
        ({"status": "LOST"}, "At status: 'LOST' is none of the values NEW, PAID."),
        ({"history": ["NEW", "LOST"]}, "At history/1: 'LOST' is none of the values NEW, PAID."),
        ({"unknown": 1}, "The message shop.Order has no field unknown."),
        ({"card": "1", "token": b"1"}, "The oneof payment has both card and token."),
        ({"at": datetime(2026, 1, 1)}, "At at: the datetime has no time zone, so it is no timestamp."),  # noqa: DTZ001
        ([], "A value of type list is no message shop.Order."),
    ],
)
def test_value_that_does_not_fit_is_refused_with_path_and_reason(value: Any, sentence: str) -> None:
    with pytest.raises(DoesNotEncode) as caught:
        shop().encode(value)
    assert str(caught.value) == sentence


def test_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["parent"] = value
    with pytest.raises(DoesNotEncode, match="nested more than"):
        shop().encode(value)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "The message indexes end within a number."),
        (b"\x00\x08", "The bytes are no message shop.Order."),
        (b"\x00\x0a\xff\xff\xff\xff\x0f", "The bytes are no message shop.Order."),
        (b"\x00\x42\x02\xff\xfe", "The bytes are no message shop.Order."),
        (b"\x02\x04", "The schema has no message at the position [2]."),
        (b"\x04\x00\x0c", "The schema has no message at the position [0, 6]."),
        (b"\xfe\xff\xff\xff\x0f", "The list of message indexes has 2147483647 entries."),
    ],
)
def test_hostile_bytes_are_refused_with_a_reason(payload: bytes, reason: str) -> None:
    with pytest.raises(DoesNotDecode) as caught:
        shop().decode(payload)
    assert str(caught.value) == reason


def test_message_nested_too_deeply_is_refused() -> None:
    message = b""
    for _ in range(150):
        size = len(message)
        message = b"\x72" + bytes([size & 0x7F | (0x80 if size > 0x7F else 0)]) + (bytes([size >> 7]) if size > 0x7F else b"") + message
    with pytest.raises(DoesNotDecode):
        shop().decode(b"\x00" + message)


SHARED = shop()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused(payload: bytes) -> None:
    for data in (payload, b"\x00" + payload):
        with suppress(DoesNotDecode):
            SHARED.decode(data)


def test_reader_reads_with_its_message_of_the_same_name() -> None:
    newer = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string comment = 99; }'
    assert shop(reader=newer).decode(shop().encode(FULL)) == {"id": 2**62, "comment": ""}
    with pytest.raises(DoesNotDecode, match=r"reader's schema has no message shop\.Receipt"):
        shop(reader=newer).decode(b"\x02\x02")


def test_required_field_and_group_of_proto2() -> None:
    schema = 'syntax = "proto2"; message R { required int32 a = 1; optional group Inner = 2 { optional string s = 3; } }'
    ours = codec_of(ProtobufSchema.parse(schema))
    assert ours.encode({"a": 1, "inner": {"s": "x"}}) == b"\x00\x08\x01\x13\x1a\x01x\x14"
    assert ours.decode(b"\x00\x08\x01\x13\x1a\x01x\x14") == {"a": 1, "inner": {"s": "x"}}
    with pytest.raises(DoesNotDecode, match="equired"):
        ours.decode(b"\x00")
    with pytest.raises(DoesNotEncode, match="equired"):
        ours.encode({})


def test_bytes_are_those_of_the_librarys_own_class() -> None:
    """``type.proto`` comes with the library, compiled by protoc: our codec of its text agrees."""
    descriptor = builtin_descriptor("google/protobuf/type.proto")
    assert descriptor is not None
    text = text_of_descriptor(descriptor)
    assert text is not None
    message = Type(name="T", fields=[Field(name="f", number=3, kind="TYPE_STRING", packed=True)], oneofs=["a", "b"], syntax="SYNTAX_PROTO3")
    ours = codec_of(ProtobufSchema.parse(text))
    decoded: Any = ours.decode(b"\x00" + message.SerializeToString())
    assert decoded["fields"][0]["kind"] == "TYPE_STRING"
    assert ours.encode(decoded) == b"\x00" + message.SerializeToString(deterministic=True)


def test_struct_is_that_of_the_library() -> None:
    theirs = Struct()
    theirs.update(FULL["extra"])
    written: Any = shop(logical_types=False).decode(shop().encode({"extra": FULL["extra"]}))
    assert set(written["extra"]["fields"]) == set(theirs.fields)
