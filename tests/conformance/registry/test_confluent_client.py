"""confluent-kafka's own registry client and serializers, unchanged, against our registry."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import AssociationCreateOrUpdateInfo, AssociationCreateOrUpdateRequest
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from tests.registry_process import RegistryProcess

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}


@pytest.fixture
def client(registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


@pytest.fixture
def topic() -> str:
    return f"orders-{uuid4()}"


def value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_avro_records_travel_and_evolve(client: SchemaRegistryClient, topic: str) -> None:
    written = AvroSerializer(client, json.dumps(ORDER))({"id": 5, "note": "x"}, value_of(topic))
    newer: dict[str, Any] = {**ORDER, "fields": [*ORDER["fields"], {"name": "paid", "type": "boolean", "default": False}]}
    assert AvroDeserializer(client, json.dumps(newer))(written, value_of(topic)) == {"id": 5, "note": "x", "paid": False}
    assert client.get_subjects().count(f"{topic}-value") == 1
    assert client.register_schema(f"{topic}-value", Schema(json.dumps(newer), "AVRO")) > 0
    assert client.get_versions(f"{topic}-value") == [1, 2]


def test_json_records_travel(client: SchemaRegistryClient, topic: str) -> None:
    schema = {"type": "object", "title": "Order", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    written = JSONSerializer(json.dumps(schema), client)({"id": 5}, value_of(topic))
    assert JSONDeserializer(json.dumps(schema), schema_registry_client=client)(written, value_of(topic)) == {"id": 5}


def order_class() -> Any:
    """A message as a compiler would generate it."""
    number = FieldDescriptorProto(name="id", number=1, type=FieldDescriptorProto.TYPE_INT64, label=FieldDescriptorProto.LABEL_OPTIONAL)
    file = FileDescriptorProto(
        name="order.proto", package="shop", syntax="proto3", message_type=[DescriptorProto(name="Order", field=[number])]
    )
    pool = DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_protobuf_messages_travel(client: SchemaRegistryClient, registry: RegistryProcess, topic: str) -> None:
    order = order_class()
    written = ProtobufSerializer(order, client)(order(id=5), value_of(topic))
    # A client that has not registered the schema itself fetches it.
    for reader in (client, SchemaRegistryClient({"url": registry.url})):
        assert ProtobufDeserializer(order, schema_registry_client=reader)(written, value_of(topic)).id == 5
    stored = client.get_latest_version(f"{topic}-value").schema.schema_str
    assert stored == 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n}\n'


def test_an_incompatible_schema_is_refused(client: SchemaRegistryClient, topic: str) -> None:
    client.register_schema(topic, Schema(json.dumps(ORDER), "AVRO"))
    worse: dict[str, Any] = {**ORDER, "fields": [*ORDER["fields"], {"name": "paid", "type": "boolean"}]}
    assert not client.test_compatibility(topic, Schema(json.dumps(worse), "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(topic, Schema(json.dumps(worse), "AVRO"))
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 40901)


def test_references_are_followed(client: SchemaRegistryClient, topic: str) -> None:
    address = {"type": "record", "name": "Address", "namespace": "a", "fields": [{"name": "city", "type": "string"}]}
    client.register_schema(f"{topic}-address", Schema(json.dumps(address), "AVRO"))
    person = {"type": "record", "name": "Person", "fields": [{"name": "home", "type": "a.Address"}]}
    reference = SchemaReference("a.Address", f"{topic}-address", 1)
    schema = Schema(json.dumps(person), "AVRO", [reference])
    written = AvroSerializer(client, schema)({"home": {"city": "x"}}, value_of(topic))
    assert AvroDeserializer(client)(written, value_of(topic)) == {"home": {"city": "x"}}
    assert client.get_latest_version(f"{topic}-value").schema.references == [reference]


def test_levels_are_set_and_read(client: SchemaRegistryClient, topic: str) -> None:
    assert client.get_compatibility() == "BACKWARD"
    client.set_compatibility(topic, "FULL")
    assert client.get_compatibility(topic) == "FULL"


def test_schemas_are_found_and_deleted(client: SchemaRegistryClient, topic: str) -> None:
    schema_id = client.register_schema(topic, Schema(json.dumps(ORDER), "AVRO"))
    found = client.lookup_schema(topic, Schema(json.dumps(ORDER, indent=1), "AVRO"))
    assert (found.schema_id, found.version) == (schema_id, 1)
    assert json.loads(client.get_schema(schema_id).schema_str or "") == ORDER
    assert client.delete_version(topic, 1) == 1
    assert client.delete_subject(topic, permanent=True) == [1]
    assert topic not in client.get_subjects()


def test_a_leader_that_stops_ends_the_topic_with_a_record(registry: RegistryProcess) -> None:
    """Karapace reads up to the last offset before it starts, and the marker of a transaction is no
    record that it could read."""
    topic = f"_schemas-{uuid4()}"
    with RegistryProcess(registry.bootstrap, "--topic", topic, "--group", topic) as other:
        assert other.ask("POST", "/subjects/a/versions", {"schema": '"int"'}).status_code == 200
        assert other.stop() == 0
    consumer = Consumer({"bootstrap.servers": registry.bootstrap, "group.id": topic, "enable.partition.eof": True})
    end = consumer.get_watermark_offsets(TopicPartition(topic, 0))[1]
    consumer.assign([TopicPartition(topic, 0, end - 1)])
    last = consumer.poll(30)
    consumer.close()
    assert last is not None
    assert last.error() is None
    assert json.loads(last.key() or b"")["keytype"] == "NOOP"


def test_a_serializer_uses_the_subject_that_is_associated_with_its_topic(client: SchemaRegistryClient, topic: str) -> None:
    shared = f"shared-{topic}"
    client.register_schema(shared, Schema(json.dumps(ORDER), "AVRO"))
    info = AssociationCreateOrUpdateInfo(subject=shared, association_type="value", lifecycle="WEAK")
    answer = client.create_association(AssociationCreateOrUpdateRequest(topic, "cluster", f"id-{topic}", "topic", [info]))
    assert [each.subject for each in answer.associations or []] == [shared]
    written = AvroSerializer(client, json.dumps(ORDER))({"id": 5, "note": None}, value_of(topic))
    assert AvroDeserializer(client)(written, value_of(topic)) == {"id": 5, "note": None}
    assert f"{topic}-value" not in client.get_subjects()
    client.delete_associations(f"id-{topic}")
    assert client.get_associations_by_resource_name(topic, "cluster") == []
