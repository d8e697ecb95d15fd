"""Schemas follow their records: copied with their ids, or translated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.mirror.schemas import SchemasMode
from barnabas.registry_client import RegistrySettings
from tests.pipelines.conftest import Broker
from tests.pipelines.mirror.conftest import RunMirror
from tests.pipelines.topics import Read, Topics
from tests.registry_process import RegistryProcess

FIRST = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]})
MORE = {"name": "note", "type": ["null", "string"], "default": None}
SECOND = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}, MORE]})
KEY = json.dumps({"type": "record", "name": "Id", "fields": [{"name": "id", "type": "int"}]})


@pytest.fixture(scope="module")
def registries(broker: Broker, other_broker: Broker) -> Iterator[tuple[RegistryProcess, RegistryProcess]]:
    with RegistryProcess(broker.bootstrap) as here, RegistryProcess(other_broker.bootstrap) as there:
        yield here, there


def context(topic: str, field: MessageField = MessageField.VALUE) -> SerializationContext:
    return SerializationContext(topic, field)


def decoded(client: SchemaRegistryClient, records: list[Read]) -> list[Any]:
    read = AvroDeserializer(client)
    return [(read(each.key, context("t", MessageField.KEY)), read(each.value, context("t"))) for each in records]


def id_of(data: bytes | None) -> int:
    return int.from_bytes((data or b"")[1:5], "big")


def test_a_mirror_copies_schemas_with_their_ids_or_translates_them(
    topics: Topics, there: Topics, run_mirror: RunMirror, registries: tuple[RegistryProcess, RegistryProcess]
) -> None:
    here, target = SchemaRegistryClient({"url": registries[0].url}), SchemaRegistryClient({"url": registries[1].url})
    settings = {"from_registry": RegistrySettings.of_url(registries[0].url), "to_registry": RegistrySettings.of_url(registries[1].url)}
    orders, plain = topics.create("orders"), topics.create("plain")

    def send(schema: str, row: dict[str, Any]) -> None:
        key = AvroSerializer(here, KEY)({"id": row["id"]}, context(orders, MessageField.KEY))
        topics.send_record(orders, key, AvroSerializer(here, schema)(row, context(orders)), {"__trace": b"7"})

    # The target has schemas of its own, so ids differ.
    for name in ("One", "Two", "Three"):
        target.register_schema(topics.name(name), Schema(json.dumps({"type": "record", "name": name, "fields": []}), "AVRO"))
    send(FIRST, {"id": 1})
    send(SECOND, {"id": 2, "note": "n"})
    common = here.register_schema(f"{orders}-common", Schema(KEY, "AVRO"))
    referring = json.dumps({"type": "record", "name": "Line", "fields": [{"name": "of", "type": "Id"}]})
    here.register_schema(f"{orders}-line", Schema(referring, "AVRO", [SchemaReference("Id", f"{orders}-common", 1)]))
    # A header names the schema, and the data begins like a known id.
    with_header = b"\0" + common.to_bytes(4, "big") + b"data"
    topics.send_record(orders, None, with_header, {"__value_schema_id": b"\1" + bytes(16)})
    # The bytes of a number, which begin like a known id.
    number = common.to_bytes(5, "big") + b"\0\0\7"
    topics.send_record(plain, number, b"\0\xff\xff\xff\xff text")

    run_mirror(schemas=SchemasMode.TRANSLATE, **settings)

    *copied, named_by_header = there.read(f"A.{orders}")
    assert (named_by_header.value, named_by_header.headers) == (with_header, {"__value_schema_id": b"\1" + bytes(16)})
    assert decoded(target, copied) == [({"id": 1}, {"id": 1}), ({"id": 2}, {"id": 2, "note": "n"})]
    assert [each.headers for each in copied] == [{"__trace": b"7"}] * 2
    assert target.get_versions(f"A.{orders}-value") == [1, 2]
    assert [id_of(each.value) for each in copied] == [target.get_version(f"A.{orders}-value", each).schema_id for each in (1, 2)]
    references = target.get_latest_version(f"A.{orders}-line").schema.references or []
    assert [(each.subject, each.version) for each in references] == [(f"A.{orders}-common", 1)]
    assert [(each.key, each.value) for each in there.read(f"A.{plain}")] == [(number, b"\0\xff\xff\xff\xff text")]

    send(json.dumps({**json.loads(SECOND), "doc": "newer"}), {"id": 3, "note": None})
    run_mirror(schemas=SchemasMode.TRANSLATE, **settings)
    assert decoded(target, there.read(f"A.{orders}")[3:]) == [({"id": 3}, {"id": 3, "note": None})]
    assert target.get_versions(f"A.{orders}-value") == [1, 2, 3]


def test_copied_schemas_keep_their_ids(topics: Topics, there: Topics, run_mirror: RunMirror, broker: Broker, other_broker: Broker) -> None:
    """With registries of their own, in topics of their own: all subjects are copied."""
    own = ["--topic", topics.name("_schemas"), "--group", topics.name("registry")]
    with RegistryProcess(broker.bootstrap, *own) as first, RegistryProcess(other_broker.bootstrap, *own) as second:
        here, target = SchemaRegistryClient({"url": first.url}), SchemaRegistryClient({"url": second.url})
        settings = {"from_registry": RegistrySettings.of_url(first.url), "to_registry": RegistrySettings.of_url(second.url)}
        orders = topics.create("orders")
        here.register_schema("gone", Schema(KEY, "AVRO"))
        here.delete_subject("gone")
        for row, schema in (({"id": 1}, FIRST), ({"id": 2, "note": "n"}, SECOND)):
            topics.send_record(orders, None, AvroSerializer(here, schema)(row, context(orders)))
            run_mirror(schemas=SchemasMode.COPY, **settings)
        copied = there.read(f"A.{orders}")
        assert [each.value for each in copied] == [each.value for each in topics.read(orders)]
        read = AvroDeserializer(target)
        assert [read(each.value, context(orders)) for each in copied] == [{"id": 1}, {"id": 2, "note": "n"}]
        assert target.get_versions(f"{orders}-value") == [1, 2]
        gone = first.ask("GET", "/subjects/gone/versions/1?deleted=true").json()
        assert second.ask("GET", "/subjects/gone/versions/1?deleted=true").json() == gone
        assert target.get_subjects() == here.get_subjects(), "a deleted version is deleted there too, and its id is known"
        assert second.ask("GET", f"/mode/{orders}-value").json() == {"mode": "IMPORT"}
        # A subject of the target's own cannot take versions with ids.
        target.register_schema("clash", Schema(KEY, "AVRO"))
        here.register_schema("clash", Schema(FIRST, "AVRO"))
        topics.send_record(orders, None, b"x")
        with pytest.raises(RunFailed, match="has versions of the subject 'clash' that are not copies"):
            run_mirror(schemas=SchemasMode.COPY, **settings)
