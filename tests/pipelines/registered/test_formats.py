"""Pipelines with a registry: confluent-kafka's serializers write what a pipeline reads, and its
deserializers read what a pipeline writes.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from barnabas.pipelines import Pipeline
from tests.pipelines.topics import Topics
from tests.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


def value_of(topic: str, headers: list[Any] | None = None) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE, headers)


FIRST = {
    "type": "record",
    "name": "Payment",
    "namespace": "bank",
    "fields": [
        {"name": "account", "type": "string"},
        {"name": "cents", "type": "int"},
        {"name": "gone", "type": ["null", "string"], "default": None},
    ],
}
SECOND = {
    **FIRST,
    "fields": [
        {"name": "account", "type": "string"},
        {"name": "cents", "type": "long"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "default": "\u0000"},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["IN", "OUT"]}, "default": "IN"},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "limits", "type": {"type": "map", "values": "long"}, "default": {}},
        {
            "name": "place",
            "type": ["null", {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}],
            "default": None,
        },
        {"name": "reference", "type": ["null", "int", "string"], "default": None},
    ],
}


def test_avro_of_every_version_is_read_as_the_latest_and_written_for_confluent(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str
) -> None:
    payments, out, bad = topics.create("payments"), topics.create("out"), topics.name("bad")
    old = AvroSerializer(client, json.dumps(FIRST))
    new = AvroSerializer(client, json.dumps(SECOND))
    with_header = AvroSerializer(client, json.dumps(SECOND), conf={"schema.id.serializer": header_schema_id_serializer})
    full = {
        "account": "b",
        "cents": 2**40,
        "at": NOON,
        "price": Decimal("12.34"),
        "day": date(2030, 1, 31),
        "kind": "OUT",
        "tags": ["x", "y"],
        "limits": {"day": 5},
        "place": {"city": "Oslo"},
        "reference": "r-1",
    }
    topics.send(payments, [old({"account": "a", "cents": 1, "gone": "note"}, value_of(payments)), new(full, value_of(payments))])
    headers: list[Any] = []
    third = with_header({**full, "account": "c"}, value_of(payments, headers))
    topics.send_record(payments, None, third, dict(headers))
    good = new(full, value_of(payments))
    topics.send(payments, [b"", b"plain text", None, b"\0\0\0\xff\xff" + good[5:], good[:-1]])

    (
        Pipeline("avro", bootstrap=topics.bootstrap, registry=registry.url)
        .source("payments", topic=payments, format="avro", dead_letters={"topic": bad})
        .step("doubled", sql="SELECT *, cents * 2 AS twice FROM payments")
        .sink("out", from_="doubled", topic=out, format={"avro": {"record": "bank.Doubled"}})
        .run(session=spark, checkpoint=checkpoint, available_now=True)
    )

    read = AvroDeserializer(client)
    first, second, named_by_header = (read(each.value, value_of(out)) for each in topics.read(out))
    nothing: dict[str, Any] = {
        "at": None,
        "price": Decimal("0.00"),
        "day": None,
        "kind": "IN",
        "tags": [],
        "limits": {},
        "place": None,
        "reference": None,
    }
    assert first == {"account": "a", "cents": 1, **nothing, "twice": 2}
    assert second == {**full, "reference": {"member0": None, "member1": "r-1"}, "twice": 2**41}
    assert named_by_header == {**second, "account": "c"}
    latest = client.get_latest_version(f"{out}-value").schema.schema_str
    assert str(latest).startswith('{"type":"record","name":"Doubled","namespace":"bank"')
    reasons = [each.headers["barnabas.dead_letter.reason"].decode() for each in topics.read(bad)]
    assert len(reasons) == 5
    assert reasons[2:4] == ["there is no value", "the registry has no schema with the id 65535"]
    assert "magic byte" in reasons[1]


def test_json_schema_round_trips_with_confluent(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str
) -> None:
    orders, out, bad = topics.create("orders"), topics.create("out"), topics.name("bad")
    schema = {
        "title": "Order",
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer"},
            "at": {"type": "string", "format": "date-time"},
            "note": {"oneOf": [{"type": "null"}, {"type": "string"}]},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"item": {"type": "string"}, "n": {"type": "integer"}}}},
        },
    }
    write = JSONSerializer(json.dumps(schema), client)
    topics.send(orders, [write({"id": 1, "at": "2030-01-31T12:00:00Z", "lines": [{"item": "hat", "n": 2}]}, value_of(orders))])
    (prefix,) = {each.value[:5] for each in topics.read(orders) if each.value is not None}
    topics.send(
        orders, [prefix + b'{"at": "x"}', prefix + b'{"id": 2, "at": "yesterday"}', write({"id": 3, "note": "n"}, value_of(orders))]
    )

    (
        Pipeline("json", bootstrap=topics.bootstrap)
        .source("orders", topic=orders, format={"json_schema": {"registry": registry.url}}, dead_letters={"topic": bad})
        .sink("out", from_="orders", topic=out, format={"json_schema": {"registry": {"url": registry.url}}})
        .run(session=spark, checkpoint=checkpoint, available_now=True)
    )

    read = JSONDeserializer(None, schema_registry_client=client)
    assert [read(each.value, value_of(out)) for each in topics.read(out)] == [
        {"id": 1, "at": "2030-01-31T12:00:00Z", "note": None, "lines": [{"item": "hat", "n": 2}]},
        {"id": 3, "at": None, "note": "n", "lines": None},
    ]
    reasons = [each.headers["barnabas.dead_letter.reason"].decode() for each in topics.read(bad)]
    assert '"id" is a required property' in reasons[0]
    assert "yesterday" in reasons[1]


def test_protobuf_round_trips_with_confluent(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str, tmp_path: Any
) -> None:
    trips, out = topics.create("trips"), topics.create("out")
    trip, answer = trip_classes()
    write = ProtobufSerializer(trip, client, {"use.deprecated.format": False})
    first = trip(id=2**40, riders=["a", "b"], card="1234", fares={"base": 250})
    first.at.FromDatetime(NOON)
    topics.send(trips, [write(first, value_of(trips)), write(trip(id=7), value_of(trips))])
    answer_file = tmp_path / "answer.proto"
    answer_file.write_text(ANSWER)

    (
        Pipeline("protobuf", bootstrap=topics.bootstrap, registry=registry.url)
        .source("trips", topic=trips, format="protobuf")
        .step("answers", sql="SELECT id, size(riders) AS riders, card, cash, fares['base'] AS cents, at FROM trips")
        .sink("out", from_="answers", topic=out, format={"protobuf": {"schema_file": str(answer_file)}})
        .run(session=spark, checkpoint=checkpoint, available_now=True)
    )

    read = ProtobufDeserializer(answer, {"use.deprecated.format": False}, client)
    full, empty = (read(each.value, value_of(out)) for each in topics.read(out))
    assert (full.id, full.riders, full.card, full.HasField("cash"), full.cents) == (2**40, 2, "1234", False, 250)
    assert full.at.ToDatetime(UTC) == NOON
    assert (empty.id, empty.riders, empty.HasField("card"), empty.HasField("at")) == (7, 0, False, False)


ANSWER = """
syntax = "proto3";
package taxi;
import "google/protobuf/timestamp.proto";
message Answer {
  int64 id = 1;
  int32 riders = 2;
  optional string card = 3;
  optional int64 cash = 4;
  int64 cents = 5;
  google.protobuf.Timestamp at = 6;
}
"""


def trip_classes() -> tuple[Any, Any]:
    """Generated classes, as protoc makes them."""
    from barnabas.schemas.protobuf.descriptors import descriptor_of
    from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema

    trip = """
syntax = "proto3";
package taxi;
import "google/protobuf/timestamp.proto";
message Trip {
  int64 id = 1;
  repeated string riders = 2;
  oneof payment { string card = 3; int64 cash = 4; }
  map<string, int64> fares = 5;
  google.protobuf.Timestamp at = 6;
}
"""
    pool = descriptor_pool.DescriptorPool()
    from google.protobuf import timestamp_pb2

    copied = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(copied)
    pool.Add(copied)
    found = []
    for name, text in (("trip.proto", trip), ("answer.proto", ANSWER)):
        file = descriptor_of(ProtobufSchema.parse(text).file, name)
        pool.Add(file)
        message = pool.FindMessageTypeByName(f"taxi.{file.message_type[0].name}")
        found.append(message_factory.GetMessageClass(message))
    return found[0], found[1]
