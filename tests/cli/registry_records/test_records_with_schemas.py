"""``consume`` and ``produce`` by schemas of a registry, beside confluent-kafka's serializers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.registry_client import RegistryClient
from barnabas.schemas.framing import write_frame
from barnabas.schemas.schema import SchemaType
from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.registry_process import RegistryProcess

ALL = ("--from-beginning", "--until-end")
ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
)
ORDER_PROTO = 'syntax = "proto3"; package shop; message First {} message Order { int64 id = 1; string note = 2; }'
ORDER_JSON = '{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'


class Place(NamedTuple):
    cli: Cli
    topic: str
    registry: RegistryClient
    url: str
    bootstrap: str

    def register(self, type_: SchemaType, text: str, part: str = "value") -> int:
        schema_id = self.registry.register(f"{self.topic}-{part}", type_, text).id
        assert schema_id is not None
        return schema_id

    def send(self, *values: bytes, headers: Any = None) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for value in values:
            producer.produce(self.topic, value, headers=headers or [])
        assert producer.flush(60) == 0

    def consume(self, *options: Any) -> Any:
        return self.cli("consume", self.topic, *ALL, "--registry", self.url, *options)

    def produce(self, stdin: str, *options: Any) -> Any:
        return self.cli("produce", self.topic, "--registry", self.url, *options, stdin=stdin.encode())


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[EmbeddedBroker, RegistryProcess]]:
    with EmbeddedBroker() as broker, RegistryProcess(broker.bootstrap) as registry:
        yield broker, registry


@pytest.fixture
def place(servers: tuple[EmbeddedBroker, RegistryProcess]) -> Iterator[Place]:
    broker, registry = servers
    cli, topic = Cli(broker.bootstrap), f"orders-{uuid4()}"
    cli("topics", "create", topic, "--partitions", 1).worked()
    with RegistryClient(registry.url) as client:
        yield Place(cli, topic, client, registry.url, broker.bootstrap)


# -- consume ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_header", [False, True])
def test_consume_decodes_records_of_confluents_serializer(place: Place, in_header: bool) -> None:
    conf = {"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    context = SerializationContext(place.topic, MessageField.VALUE, [])
    with SchemaRegistryClient({"url": place.url}) as theirs:
        value = AvroSerializer(theirs, ORDER, conf=conf)({"id": 5, "price": Decimal("12.50"), "note": "é"}, context)
    assert value is not None
    place.send(value, headers=context.headers)
    assert place.consume().text == '{"id": 5, "price": "12.50", "note": "é"}\n'
    (line,) = place.consume("--json").json_lines
    assert line["value"] == {"id": 5, "price": "12.50", "note": "é"}
    latest = place.registry.latest(f"{place.topic}-value")
    assert line["value_schema"] == str(latest.guid if in_header else latest.id)


def test_consume_filters_and_templates_see_the_decoded_value(place: Place) -> None:
    place.register(SchemaType.AVRO, ORDER)
    place.produce('{"id": 1, "price": "1.00"}\n{"id": 2, "price": "2.50"}\n', "--value-format", "avro").worked()
    assert place.consume("--filter", ".id > 1", "--format", "%o: %s\n").text == '1: {"id": 2, "price": "2.50", "note": null}\n'


def test_auto_leaves_other_bytes_alone(place: Place) -> None:
    place.send(b"plain text", b'{"plain": "json"}')
    assert place.consume().text == 'plain text\n{"plain": "json"}\n'


def test_record_that_does_not_decode_is_printed_with_the_reason(place: Place) -> None:
    schema_id = place.register(SchemaType.AVRO, ORDER)
    bad = write_frame(schema_id, b"\x02")
    place.produce('{"id": 1, "price": "1.00"}\n', "--value-format", "avro").worked()
    place.send(bad, b"plain", write_frame(99_999, b""))
    finished = place.consume("--value-format", "avro", "--json")
    good, *others = [json.loads(line) for line in finished.out.splitlines()]
    assert good["value"]["id"] == 1
    assert others[0]["value_error"] == "At price: the bytes end early."
    assert base64.b64decode(others[0]["value_base64"]) == bad
    assert others[1]["value_error"].startswith("The first byte is 112")
    assert "The schema 99999 cannot be used" in others[2]["value_error"]
    assert finished.complaint == (
        f"3 keys or values could not be decoded; the first is the value in {place.topic}-0 at offset 1: At price: the bytes end early."
    )
    lines = place.consume("--value-format", "avro").out.decode().splitlines()
    assert json.loads(lines[1]) == {"undecodable": "At price: the bytes end early.", "base64": base64.b64encode(bad).decode()}


def test_schema_of_another_type_is_no_schema_of_the_format(place: Place) -> None:
    place.register(SchemaType.JSON, ORDER_JSON)
    place.produce('{"id": 1}\n', "--value-format", "json_schema").worked()
    assert "is of type JSON, and not avro" in place.consume("--value-format", "avro").complaint


def test_registry_that_does_not_answer_ends_the_command(place: Place) -> None:
    place.send(write_frame(1, b""))
    finished = place.cli("consume", place.topic, *ALL, "--registry", "http://127.0.0.1:1")
    assert "No registry answers at http://127.0.0.1:1" in finished.complaint


def test_registry_without_a_format_of_schemas_is_refused(place: Place) -> None:
    assert "--registry is for" in place.consume("--key-format", "hex", "--value-format", "text").complaint
    assert "--registry is for" in place.produce("x\n").complaint
    assert "Schemas need a registry" in place.cli("consume", place.topic, *ALL, "--value-format", "avro").complaint


def test_registry_may_stand_in_the_clients_properties(place: Place, tmp_path: Path) -> None:
    place.register(SchemaType.AVRO, '"string"')
    file = tmp_path / "client.properties"
    file.write_text(f"schema.registry.url={place.url}\nschema.registry.basic.auth.user.info=alice:secret\n")
    place.cli("produce", place.topic, "--config-file", file, "--value-format", "auto", "--value", "hello").worked()
    assert place.cli("consume", place.topic, *ALL, "--config-file", file, "--value-format", "auto").text == '"hello"\n'
    # Commands that need no registry get along with its properties.
    place.cli("topics", "describe", place.topic, "--config-file", file).worked()


# -- produce ---------------------------------------------------------------------------------------


def test_confluents_deserializer_reads_what_produce_sends(place: Place) -> None:
    place.register(SchemaType.AVRO, ORDER)
    place.produce('{"id": 1, "price": "12.50", "note": {"string": "x"}}\n', "--value-format", "avro").worked()
    consumer = Consumer({"bootstrap.servers": place.bootstrap, "group.id": place.topic, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([place.topic])
        message = consumer.poll(60)
        assert message is not None
        with SchemaRegistryClient({"url": place.url}) as theirs:
            value: Any = AvroDeserializer(theirs)(message.value(), SerializationContext(place.topic, MessageField.VALUE))
        assert (value["id"], str(value["price"]), value["note"]) == (1, "12.50", "x")
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("format_", "type_", "text", "line", "options"),
    [
        ("avro", SchemaType.AVRO, ORDER, {"id": 1, "price": "1.00", "note": None}, ()),
        ("json_schema", SchemaType.JSON, ORDER_JSON, {"id": 1}, ()),
        ("protobuf", SchemaType.PROTOBUF, ORDER_PROTO, {"id": "1", "note": "x"}, ("--value-message", "shop.Order")),
        ("auto", SchemaType.JSON, ORDER_JSON, {"id": 1}, ()),
    ],
)
def test_every_format_comes_back(place: Place, format_: str, type_: SchemaType, text: str, line: Any, options: tuple[str, ...]) -> None:
    place.register(type_, text)
    place.produce(json.dumps(line) + "\n", "--value-format", format_, *options).worked()
    assert place.consume("--value-format", format_).json == line


def test_topic_is_copied_with_its_schemas(place: Place) -> None:
    place.register(SchemaType.AVRO, '"string"', "key")
    place.register(SchemaType.AVRO, ORDER)
    both = ("--key-format", "avro", "--value-format", "avro")
    place.produce('k1:{"id": 1, "price": "1.00"}\n"5":{"id": 2, "price": "2.00"}\n', *both, "-K", ":").worked()
    place.send(b"broken")
    copied = place.consume("--json", *both, "--max", 3)
    place.produce(copied.out.decode(), "--json", *both).worked()
    lines = [json.loads(line) for line in place.consume("--json", *both).out.splitlines()]
    assert [(each["key"], each.get("value")) for each in lines[:3]] == [(each["key"], each.get("value")) for each in lines[3:]]
    assert [each["key"] for each in lines[:2]] == ["k1", "5"]
    assert base64.b64decode(lines[5]["value_base64"]) == b"broken"


def test_record_that_does_not_fit_is_not_sent(place: Place) -> None:
    schema_id = place.register(SchemaType.AVRO, ORDER)
    finished = place.produce('{"id": 1, "price": "1.00"}\n{"id": "x", "price": "1.00"}\n', "--value-format", "avro")
    assert finished.complaint == (
        f"Line 2 has a value that does not fit schema {schema_id}: At id: the str 'x' is no long; it and the lines after it were not sent."
    )
    assert len(place.consume().text.splitlines()) == 1
    assert "Line 1 has a value that is not JSON" in place.produce("{\n", "--value-format", "avro").complaint
    assert (
        "--value does not fit schema"
        in place.cli("produce", place.topic, "--registry", place.url, "--value-format", "avro", "--value", "{}").complaint
    )


def test_tombstone_needs_no_schema(place: Place) -> None:
    place.register(SchemaType.AVRO, '"string"', "key")
    place.cli("produce", place.topic, "--registry", place.url, "--key-format", "avro", "--key", "k", "--tombstone").worked()
    (line,) = place.consume("--json").json_lines
    assert (line["key"], line["value"]) == ("k", None)


def test_schema_is_chosen_by_file_version_and_id(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text('{"type":"record","name":"O","fields":[{"name":"a","type":"int"}]}')
    place.produce('{"a": 1}\n', "--value-schema", file).worked()
    assert place.registry.versions(f"{place.topic}-value") == [1]
    newer = '{"type":"record","name":"O","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":7}]}'
    place.register(SchemaType.AVRO, newer)
    place.produce('{"a": 2}\n', "--value-format", "avro").worked()
    place.produce('{"a": 3}\n', "--value-schema-version", 1).worked()
    place.produce('{"a": 4}\n', "--value-schema-id", place.registry.version(f"{place.topic}-value", 1).id).worked()
    lines = [json.loads(line) for line in place.consume().text.splitlines()]
    assert lines == [{"a": 1}, {"a": 2, "b": 7}, {"a": 3}, {"a": 4}]
    assert "name two schemas" in place.produce("", "--value-schema-id", 1, "--value-schema", file).complaint
    assert "is for schemas" in place.produce("", "--value-schema-id", 1, "--value-format", "hex").complaint
    assert "not found" in place.produce("", "--value-format", "avro", "--value-subject", "nothing").complaint


def test_schema_of_a_file_may_refer_to_registered_ones(place: Place, tmp_path: Path) -> None:
    subject = f"money-{place.topic}"
    place.registry.register(subject, SchemaType.PROTOBUF, 'syntax = "proto3"; package bank; message Money { int32 amount = 1; }')
    file = tmp_path / "order.proto"
    file.write_text('syntax = "proto3"; import "money.proto"; message Order { bank.Money price = 1; }')
    place.produce('{"price": {"amount": 5}}\n', "--value-schema", file, "--schema-reference", f"money.proto={subject}:1").worked()
    assert place.consume().json == {"price": {"amount": 5}}
