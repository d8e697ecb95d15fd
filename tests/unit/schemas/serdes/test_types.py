"""Schemas that Python's types have, and objects that come back from every format."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypedDict
from uuid import UUID

import pytest

from barnabas.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    RecordContext,
)
from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema
from barnabas.schemas.serdes.python_types.avro_types import avro_schema_of
from barnabas.schemas.serdes.python_types.json_types import json_schema_of
from barnabas.schemas.serdes.python_types.reading_types import shape_of
from tests.unit.schemas.serdes.memory_registry import MemoryRegistry
from tests.unit.schemas.serdes.typed_payments import Card, Line, Order, Payment, Status, order, payment

VALUE = RecordContext("payments")


def avro(type_: Any, namespace: str | None = None) -> Any:
    return json.loads(avro_schema_of(shape_of(type_), namespace))


def json_schema(type_: Any) -> Any:
    return json.loads(json_schema_of(shape_of(type_)))


@pytest.mark.parametrize("sent", [payment(), payment(means=Card("1"), note="n", number=None, previous=payment(), labels={"a": "b"})])
def test_dataclass_comes_back_from_avro_and_json(sent: Payment) -> None:
    registry = MemoryRegistry()
    assert AvroDeserializer(registry, Payment)(AvroSerializer(registry, Payment)(sent, VALUE), VALUE) == sent
    registry = MemoryRegistry()
    assert JsonDeserializer(registry, Payment)(JsonSerializer(registry, Payment)(sent, VALUE), VALUE) == sent


def test_pydantic_model_comes_back_from_avro_and_json() -> None:
    sent = order()
    registry = MemoryRegistry()
    assert AvroDeserializer(registry, Order)(AvroSerializer(registry, Order)(sent, VALUE), VALUE) == sent
    registry = MemoryRegistry()
    assert JsonDeserializer(registry, Order)(JsonSerializer(registry, Order)(sent, VALUE), VALUE) == sent


@pytest.mark.parametrize("value", ["text", 5, 1.5, True, b"bytes", UUID(int=3), [1, 2]])
def test_value_of_pythons_own_type_comes_back(value: Any) -> None:
    type_ = list[int] if isinstance(value, list) else type(value)
    registry = MemoryRegistry()
    assert AvroDeserializer(registry, type_)(AvroSerializer(registry, type_)(value, VALUE)) == value
    registry = MemoryRegistry()
    assert JsonDeserializer(registry, type_)(JsonSerializer(registry, type_)(value, VALUE)) == value


PROTO = """
syntax = "proto3";
package bank;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
message Receipt {
  string id = 1;
  google.protobuf.Timestamp at = 2;
  google.protobuf.Duration took = 3;
  string amount = 4;
  Status status = 5;
  repeated Line lines = 6;
  optional string note = 7;
  enum Status { NEW = 0; PAID = 1; }
  message Line { string name = 1; string price = 2; repeated string tags = 3; }
}
"""


@dataclass
class Receipt:
    id: UUID
    at: datetime
    took: timedelta
    amount: Decimal
    status: Status
    lines: list[Line]
    note: str | None = None


def test_dataclass_comes_back_from_protobuf() -> None:
    registry = MemoryRegistry()
    sent = Receipt(UUID(int=1), datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), Decimal("1.5"), Status.PAID, payment().lines)
    written = ProtobufSerializer(registry, Receipt, schema=PROTO)(sent, VALUE)
    assert ProtobufDeserializer(registry, Receipt)(written) == sent
    as_dict = ProtobufDeserializer(registry)(written)
    assert (as_dict["status"], as_dict["lines"][1]["name"]) == ("PAID", "b")


class Point(TypedDict):
    x: int
    y: int


def test_typed_dict_is_a_record() -> None:
    registry = MemoryRegistry()
    sent: Point = {"x": 1, "y": 2}
    assert avro(Point)["fields"] == [{"name": "x", "type": "long"}, {"name": "y", "type": "long"}]
    assert AvroDeserializer(registry, Point)(AvroSerializer(registry, Point)(sent, VALUE)) == sent


# -- the schemas themselves ------------------------------------------------------------------------


def test_avro_schema_of_a_dataclass() -> None:
    fields = {each["name"]: {name: value for name, value in each.items() if name != "name"} for each in avro(Payment)["fields"]}
    assert fields["id"] == {"type": {"type": "string", "logicalType": "uuid"}}
    assert fields["at"] == {"type": {"type": "long", "logicalType": "timestamp-micros"}}
    assert fields["amount"] == {"type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18}}
    assert fields["status"] == {"type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]}}
    assert fields["count"] == {"type": "int"}
    assert fields["note"] == {"type": ["null", "string"], "default": None}
    assert fields["number"] == {"type": ["long", "null"], "default": 7}
    assert fields["previous"] == {"type": ["null", "Payment"], "default": None}
    assert fields["labels"] == {"type": {"type": "map", "values": "string"}, "default": {}}
    assert fields["sizes"] == {"type": {"type": "array", "items": "long"}, "default": [1, 2]}
    assert fields["state"] == {"type": "Status", "default": "NEW"}
    assert fields["since"] == {"type": {"type": "int", "logicalType": "date"}, "default": 20455}
    assert fields["fee"]["default"] == "2"
    assert fields["raw"] == {"type": "bytes", "default": "\u00ff\u0000"}
    assert fields["key"]["default"] == str(UUID(int=5))
    assert fields["first"] == {"type": "Card", "default": {"number": "none"}}
    assert [each if isinstance(each, str) else each["name"] for each in fields["means"]["type"]] == ["Card", "Transfer"]


def test_namespace_is_that_of_the_whole_schema() -> None:
    assert avro(Line, "bank")["namespace"] == "bank"
    registry = MemoryRegistry()
    written = AvroSerializer(registry, Payment, namespace="bank")(payment(), VALUE)
    assert AvroDeserializer(registry, Payment)(written) == payment()


def test_json_schema_of_a_dataclass() -> None:
    schema = json_schema(Payment)
    assert schema["title"] == "Payment"
    assert schema["additionalProperties"] is False
    assert schema["required"][:3] == ["id", "at", "amount"]
    assert "note" not in schema["required"]
    assert schema["properties"]["count"] == {"type": "integer", "minimum": 0}
    assert schema["properties"]["status"] == {"enum": ["new", "paid"]}
    assert schema["properties"]["previous"]["oneOf"] == [{"$ref": "#"}, {"type": "null"}]
    assert schema["properties"]["state"] == {"enum": ["new", "paid"], "default": "new"}
    assert schema["definitions"]["Line"]["properties"]["tags"] == {"type": "array", "items": {"type": "string"}, "default": []}


def test_json_schema_of_a_pydantic_model_is_its_own_but_closed() -> None:
    schema = json_schema(Order)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["OrderLine"]["additionalProperties"] is False


@dataclass
class Unclear:
    anything: Any


@dataclass
class BadKeys:
    numbers: dict[int, str]


@dataclass
class Waiting:
    for_: timedelta


@pytest.mark.parametrize(
    ("type_", "sentence"),
    [
        (Unclear, "Avro has no type for any value"),
        (BadKeys, "The keys of a dict are texts"),
        (Waiting, "Avro has no type for timedelta"),
        (object(), "has no schema"),
        (complex, "The type complex has no schema"),
        (tuple[int, str], "Only tuples of any length"),
    ],
)
def test_type_without_a_schema_is_refused(type_: Any, sentence: str) -> None:
    with pytest.raises(InvalidSchema, match=sentence):
        avro(type_)


# -- objects that do not fit -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (payment(count=2**31), "At count: the number is no int, which has 32 bits."),
        (
            payment(lines=[Line("a", Decimal("1.255"))]),
            "At lines/0/price: the value is no decimal: 1.255 has more than 2 digits after the point.",
        ),
        (payment(at=datetime(2026, 1, 1)), "At at: the value is no timestamp-micros"),  # noqa: DTZ001
        (payment(paid="yes"), "At paid: the str 'yes' is no boolean."),
        (Card("1"), "A value of type Card is no Payment."),
    ],
)
def test_object_that_does_not_fit_is_refused_with_path_and_reason(sent: Any, sentence: str) -> None:
    with pytest.raises(DoesNotEncode) as caught:
        AvroSerializer(MemoryRegistry(), Payment)(sent, VALUE)
    assert str(caught.value).startswith(sentence)


@dataclass
class Strict:
    count: int
    at: datetime


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"count": 1}, "At at: the field is missing, and Strict has no default for it."),
        ({"count": True, "at": "2026-01-01"}, "At count: a value of type bool is no int."),
        ({"count": 1, "at": "soon"}, "At at: 'soon' is no datetime"),
        ([], "A value of type list is no Strict."),
    ],
)
def test_document_that_makes_no_object_is_refused(document: Any, sentence: str) -> None:
    registry = MemoryRegistry()
    written = JsonSerializer(registry, schema="{}")(document, VALUE)
    with pytest.raises(DoesNotDecode) as caught:
        JsonDeserializer(registry, Strict)(written)
    assert str(caught.value).startswith(sentence)


def test_document_that_makes_no_model_is_refused() -> None:
    registry = MemoryRegistry()
    written = JsonSerializer(registry, schema="{}")({"id": 1}, VALUE)
    with pytest.raises(DoesNotDecode, match="The document makes no Order"):
        JsonDeserializer(registry, Order)(written)
