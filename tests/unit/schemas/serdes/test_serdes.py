"""Subjects, ids and headers; old writers and new readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from barnabas.schemas import (
    AvroDeserializer,
    AvroSerializer,
    Deserializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    RecordContext,
    Serializer,
    by_association,
    by_record,
    by_topic,
    by_topic_record,
)
from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema, NotFramed
from barnabas.schemas.framing import KEY_HEADER, VALUE_HEADER, read_frame, read_guid
from barnabas.schemas.schema import Reference, SchemaType
from tests.unit.schemas.serdes.memory_registry import MemoryRegistry, NotRegistered


@dataclass
class Order:
    id: int
    note: str | None = None


ORDER_PROTO = 'syntax = "proto3"; package shop; message Other {} message Order { int64 id = 1; optional string note = 2; }'
VALUE = RecordContext("orders")
KEY = RecordContext("orders", "key")
FORMATS: list[tuple[Callable[..., Serializer[Order]], Callable[..., Deserializer[Order]]]] = [
    (lambda registry, **options: AvroSerializer(registry, Order, **options), lambda registry: AvroDeserializer(registry, Order)),
    (lambda registry, **options: JsonSerializer(registry, Order, **options), lambda registry: JsonDeserializer(registry, Order)),
    (
        lambda registry, **options: ProtobufSerializer(registry, Order, schema=ORDER_PROTO, message="shop.Order", **options),
        lambda registry: ProtobufDeserializer(registry, Order),
    ),
]
formats = pytest.mark.parametrize(("serializer", "deserializer"), FORMATS, ids=["avro", "json", "protobuf"])


@formats
def test_id_stands_in_front_of_the_bytes(serializer: Any, deserializer: Any) -> None:
    registry = MemoryRegistry()
    written = serializer(registry)(Order(5), VALUE)
    assert read_frame(written)[0] == registry.latest("orders-value").id
    assert deserializer(registry)(written, VALUE) == Order(5)


@formats
@pytest.mark.parametrize(("field", "name"), [("key", KEY_HEADER), ("value", VALUE_HEADER)])
@pytest.mark.parametrize("make_headers", [list, dict])
def test_guid_stands_in_a_header(serializer: Any, deserializer: Any, field: str, name: str, make_headers: Any) -> None:
    registry = MemoryRegistry()
    context = RecordContext("orders", field, make_headers())
    written = serializer(registry, in_header=True)(Order(5, "x"), context)
    assert read_guid(dict(context.headers or ())[name])[0] == registry.latest(f"orders-{field}").guid
    assert deserializer(registry)(written, context) == Order(5, "x")


@formats
def test_none_stays_none(serializer: Any, deserializer: Any) -> None:
    assert serializer(MemoryRegistry())(None, VALUE) is None
    assert deserializer(MemoryRegistry())(None, VALUE) is None


def test_header_needs_headers() -> None:
    with pytest.raises(DoesNotEncode, match="pass headers"):
        AvroSerializer(MemoryRegistry(), Order, in_header=True)(Order(1), VALUE)
    with pytest.raises(InvalidSchema, match="passes no headers"):
        AvroSerializer(MemoryRegistry(), Order, in_header=True).for_topic("orders")


@pytest.mark.parametrize(
    ("strategy", "subjects"),
    [
        (by_topic, {"orders-value", "orders-key"}),
        (by_record, {"Order"}),
        (by_topic_record, {"orders-Order"}),
        (by_association(), {"ours", "orders-key"}),
        (by_association(by_record), {"ours", "Order"}),
    ],
)
def test_strategy_names_the_subject(strategy: Any, subjects: set[str]) -> None:
    registry = MemoryRegistry()
    registry.associations["orders", False] = "ours"
    serialize = AvroSerializer(registry, Order, subject=strategy)
    serialize(Order(1), VALUE)
    serialize(Order(1), KEY)
    assert set(registry.subjects) == subjects


def test_subject_of_a_protobuf_message_carries_its_name() -> None:
    registry = MemoryRegistry()
    ProtobufSerializer(registry, Order, schema=ORDER_PROTO, message="shop.Order", subject=by_record)(Order(1), VALUE)
    assert set(registry.subjects) == {"shop.Order"}


def test_association_without_a_fallback_refuses_other_topics() -> None:
    with pytest.raises(DoesNotEncode, match="associates no subject with the topic orders"):
        AvroSerializer(MemoryRegistry(), Order, subject=by_association(None))(Order(1), VALUE)


def test_subject_of_a_topic_needs_the_topic() -> None:
    with pytest.raises(DoesNotEncode, match=r"use for_topic\(\)"):
        AvroSerializer(MemoryRegistry(), Order)(Order(1))
    registry = MemoryRegistry()
    assert AvroSerializer(registry, Order).for_topic("orders", is_key=True)(Order(1)) is not None
    assert set(registry.subjects) == {"orders-key"}


def test_serializer_that_registers_nothing_needs_a_registered_schema() -> None:
    registry = MemoryRegistry()
    serialize = AvroSerializer(registry, Order, auto_register=False)
    with pytest.raises(NotRegistered):
        serialize(Order(1), VALUE)
    AvroSerializer(registry, Order)(Order(1), VALUE)
    assert read_frame(serialize(Order(1), VALUE))[0] == 1


NEWER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"extra","type":"int","default":3}]}'


def test_serializer_of_the_latest_schema_writes_with_it() -> None:
    registry = MemoryRegistry()
    serialize = AvroSerializer(registry, use_latest=True)
    registry.register("orders-value", SchemaType.AVRO, '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}')
    assert AvroDeserializer(registry)(serialize({"id": 1}, VALUE)) == {"id": 1}
    registry.register("orders-value", SchemaType.AVRO, NEWER)
    assert AvroDeserializer(registry)(serialize({"id": 1}, VALUE)) == {"id": 1, "extra": 3}
    # The latest schema has no field for the note, and what would be lost is refused.
    with pytest.raises(DoesNotEncode, match="has no field note"):
        AvroSerializer(registry, Order, use_latest=True)(Order(1, "lost"), VALUE)


def test_serializer_of_an_id_writes_with_it() -> None:
    registry = MemoryRegistry()
    registry.register("elsewhere", SchemaType.AVRO, NEWER)
    written = AvroSerializer(registry, schema_id=1)({"id": 1, "extra": 4})
    assert AvroDeserializer(registry)(written) == {"id": 1, "extra": 4}
    with pytest.raises(DoesNotEncode, match="of type AVRO, and not JSON"):
        JsonSerializer(registry, schema_id=1)({"id": 1})


def test_serializer_without_any_schema_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="needs a type or a schema"):
        AvroSerializer(MemoryRegistry())


def test_schema_of_a_program_may_refer_to_registered_ones() -> None:
    registry = MemoryRegistry()
    registry.register("money", SchemaType.AVRO, '{"type":"record","name":"Money","fields":[{"name":"amount","type":"long"}]}')
    price = '{"type":"record","name":"Price","fields":[{"name":"money","type":"Money"}]}'
    serialize = AvroSerializer(registry, schema=price, references=[Reference("Money", "money", 1)])
    assert AvroDeserializer(registry)(serialize({"money": {"amount": 5}}, VALUE)) == {"money": {"amount": 5}}
    assert registry.latest("orders-value").references == (Reference("Money", "money", 1),)


# -- old writers and new readers -------------------------------------------------------------------


@dataclass
class OldOrder:
    id: int
    gone: str = "x"


@formats
def test_new_reader_reads_old_records(serializer: Any, deserializer: Any) -> None:
    registry = MemoryRegistry()
    olds: dict[Any, Serializer[OldOrder]] = {
        FORMATS[0][0]: AvroSerializer(registry, OldOrder),
        FORMATS[1][0]: JsonSerializer(registry, OldOrder),
        FORMATS[2][0]: ProtobufSerializer(
            registry, OldOrder, schema='syntax = "proto3"; package shop; message Order { int64 id = 1; string gone = 9; }'
        ),
    }
    assert deserializer(registry)(olds[serializer](OldOrder(5), VALUE)) == Order(5, None)


def test_bytes_of_another_format_are_refused() -> None:
    registry = MemoryRegistry()
    written = AvroSerializer(registry, Order)(Order(1), VALUE)
    with pytest.raises(DoesNotDecode, match="of type AVRO, and not JSON"):
        JsonDeserializer(registry, Order)(written)
    with pytest.raises(NotFramed):
        AvroDeserializer(registry, Order)(b"{}")


def test_types_are_those_of_the_program() -> None:
    registry = MemoryRegistry()
    deserialize: Deserializer[Order] = AvroDeserializer(registry, Order)
    assert_type(AvroDeserializer(registry, Order)(AvroSerializer(registry, Order)(Order(1), VALUE)), Order)
    assert_type(AvroSerializer(registry, Order)(Order(1), VALUE), bytes)
    assert deserialize(None) is None
