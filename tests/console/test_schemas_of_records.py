"""Records with schemas of a registry, written by the serializers of confluent-kafka."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import fastavro
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from playwright.sync_api import Browser, expect

from barnabas.console.core.decoding.decoder_choice import DecoderChoice, TopicDecoders
from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.browser import opened_page, screenshot
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "when", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
    }
)
JSON_SCHEMA = json.dumps({"title": "Payment", "type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]})


def _send(broker: EmbeddedBroker, topic: str, serializer: Any, value: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, serializer(value, SerializationContext(topic, MessageField.VALUE)), partition=0)
    producer.flush()


def test_values_of_the_registrys_serializers_are_decoded_and_filtered(
    with_registry: ConsoleThread, broker: EmbeddedBroker, registry: str, topic: str, client: ConsoleClient
) -> None:
    registered = SchemaRegistryClient({"url": registry})
    _send(broker, topic, AvroSerializer(registered, AVRO), {"id": 7, "when": 0})
    console = with_registry.client()
    (record,) = console.get(f"/clusters/local/topics/{topic}/records")["records"]
    assert record["value"]["format"] == "schema"
    assert record["value"]["schema"].startswith("avro schema ")
    assert json.loads(record["value"]["text"]) == {"id": 7, "when": "1970-01-01T00:00:00+00:00"}
    found = console.get(f"/clusters/local/topics/{topic}/records", begin="oldest", filter=".id == 7")
    assert len(found["records"]) == 1
    assert console.get("/clusters/local/sql", query=f"SELECT id + 1 AS next FROM `{topic}`", run=True)["rows"] == [[8]]
    # This console did not create the topic, and reuses a list of topics for some seconds.
    question = {"query": f"SELECT i FROM `{topic}`", "position": 8}
    until(
        lambda: console.get("/clusters/local/sql/complete", **question)["words"][0] == {"text": "id", "kind": "column"},
        "the column of the schema is offered first",
        seen=lambda: console.get("/clusters/local/sql/complete", **question)["words"],
    )
    without = client.get(f"/clusters/local/topics/{topic}/records")["records"][0]
    assert without["value"]["format"] == "hex"
    sent = console.post(f"/clusters/local/topics/{topic}/records", value='{"id": 8, "when": 1000}', value_format="schema", partition=0)
    assert json.loads(console.get(sent["location"])["record"]["value"]["text"])["id"] == 8
    refused = console.try_post(f"/clusters/local/topics/{topic}/records", value='{"id": "x"}', value_format="schema")
    assert refused.status_code == 400
    assert "does not fit the latest schema" in refused.json()["error"]


def test_json_with_a_schema_is_decoded_and_an_unknown_id_is_a_sentence(
    with_registry: ConsoleThread, broker: EmbeddedBroker, registry: str, topic: str
) -> None:
    _send(broker, topic, JSONSerializer(JSON_SCHEMA, SchemaRegistryClient({"url": registry})), {"amount": 1.5})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"\x00\x00\x0f\x42\x40payload", partition=1)
    producer.flush()
    shown = {each["partition"]: each["value"] for each in with_registry.client().get(f"/clusters/local/topics/{topic}/records")["records"]}
    assert (json.loads(shown[0]["text"]), shown[0]["schema"].split()[0]) == ({"amount": 1.5}, "json")
    assert shown[1]["problem"] == "The registry has no schema 1000000."


def test_a_registry_that_cannot_be_reached_is_a_sentence_beside_the_bytes(broker: EmbeddedBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(20):
        producer.produce(topic, b"\x00\x00\x00\x00\x07" + bytes([number]), partition=0)
    producer.flush()
    with console_of(ClusterSettings("local", broker.bootstrap, registry="http://127.0.0.1:1")) as console:
        shown = console.client().get(f"/clusters/local/topics/{topic}/records")["records"]
        assert len(shown) == 20
        assert all(each["value"]["problem"] and each["value"]["format"] == "hex" for each in shown)


PROTO = 'syntax = "proto3"; package acme; message Ping { int32 n = 1; } message Reading { string sensor = 1; double celsius = 2; }'


def _bare(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for each in values:
        producer.produce(topic, each, partition=0)
    producer.flush()


def _avro_value(value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, json.loads(AVRO), value)
    return out.getvalue()


def test_avro_without_framing_is_decoded_by_the_topics_schema_when_a_person_asks(
    with_registry: ConsoleThread, broker: EmbeddedBroker, registry: str, topic: str
) -> None:
    SchemaRegistryClient({"url": registry}).register_schema(f"{topic}-value", Schema(AVRO, "AVRO"))
    _bare(broker, topic, _avro_value({"id": 7, "when": 0}), b"\xff")
    console, address = with_registry.client(), f"/clusters/local/topics/{topic}/records"
    newest, oldest = console.get(address, show_value="schema")["records"]
    assert oldest["value"]["chosen_by"] == "page"
    assert oldest["value"]["schema"].endswith(f"Order, version 1 of {topic}-value")
    assert json.loads(oldest["value"]["text"]) == {"id": 7, "when": "1970-01-01T00:00:00+00:00"}
    assert (newest["value"]["format"], newest["value"]["chosen_by"]) == ("hex", "bytes")
    assert newest["value"]["problem"].startswith(f"The bytes do not fit the latest schema of {topic}-value: ")
    assert console.get(address)["records"][1]["value"]["chosen_by"] == "bytes"
    found = console.get(address, begin="oldest", filter=".id == 7", value_subject=f"{topic}-value")
    assert [each["offset"] for each in found["records"]] == [0]
    missing = console.get(address, value_subject="no-such-subject")["records"][0]["value"]
    assert missing["problem"].startswith("The latest schema of no-such-subject is not available: ")
    assert '"id": 7' in console.http.get(f"/api{address}/export", params={"show_value": "schema", "begin": "oldest"}).text
    page = console.page(f"{address}/0/0", show_value="schema")
    assert f"version 1 of {topic}-value, chosen on this page" in page
    assert "detected by looking at the bytes" in console.page(f"{address}/0/0")


def test_a_person_chooses_the_decoder_of_values_by_hand(
    browser: Browser, with_registry: ConsoleThread, broker: EmbeddedBroker, registry: str, topic: str
) -> None:
    SchemaRegistryClient({"url": registry}).register_schema(f"{topic}-value", Schema(AVRO, "AVRO"))
    _bare(broker, topic, _avro_value({"id": 1234567, "when": 0}))
    with opened_page(browser, with_registry.url) as page:
        page.goto(f"/clusters/local/topics/{topic}/records")
        row = page.locator("#records tr")
        expect(row).not_to_contain_text("1234567")
        page.locator("summary", has_text="Decoders").click()
        subject = page.get_by_label("Subject of the value")
        expect(subject).to_be_hidden()
        page.get_by_label("Show the value as").select_option("schema")
        subject.fill(f"{topic}-value")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(row).to_contain_text('"id": 1234567')
        screenshot(page, "decoder-chosen")
        # The choice is part of the address.
        page.goto(page.url)
        expect(row).to_contain_text('"id": 1234567')
        page.get_by_label("Show the value as").select_option("hex")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(row).to_contain_text("hex, as chosen, 5 B")


def test_protobuf_without_framing_names_fields_that_its_schema_does_not_have(
    with_registry: ConsoleThread, broker: EmbeddedBroker, registry: str, topic: str
) -> None:
    SchemaRegistryClient({"url": registry}).register_schema(f"{topic}-value", Schema(PROTO, "PROTOBUF"))
    _bare(broker, topic, b"\x0a\x04roof\x11" + struct.pack("<d", 21.5))
    console, address = with_registry.client(), f"/clusters/local/topics/{topic}/records"
    (right,) = console.get(address, show_value="schema", value_message="acme.Reading")["records"]
    assert json.loads(right["value"]["text"]) == {"sensor": "roof", "celsius": 21.5}
    assert right["value"]["problem"] is None
    (wrong,) = console.get(address, show_value="schema")["records"]
    assert wrong["value"]["problem"] == "2 fields of the bytes are not in this schema, so it may be the wrong one."
    (unknown,) = console.get(address, show_value="schema", value_message="acme.No")["records"]
    assert unknown["value"]["problem"].endswith("The schema has no message acme.No.")


def test_the_file_of_the_console_sets_the_decoder_of_a_topic(broker: EmbeddedBroker, registry: str, topic: str) -> None:
    SchemaRegistryClient({"url": registry}).register_schema(f"{topic}-json", Schema(JSON_SCHEMA, "JSON"))
    _bare(broker, topic, b'{"amount": 1.5}', b'{"amount": "much"}')
    decoders = {f"{topic[:-1]}*": TopicDecoders(value=DecoderChoice("schema", f"{topic}-json"))}
    with console_of(ClusterSettings("local", broker.bootstrap, registry=registry, decoders=decoders)) as console:
        client = console.client()
        wrong, right = client.get(f"/clusters/local/topics/{topic}/records")["records"]
        assert (right["value"]["chosen_by"], right["value"]["problem"]) == ("file", None)
        assert right["value"]["schema"].startswith("json schema ")
        assert wrong["value"]["problem"].startswith(f"The bytes do not fit the latest schema of {topic}-json: At amount: ")
        assert "as set for the topic" in client.page(f"/clusters/local/topics/{topic}/records")
        detected = client.get(f"/clusters/local/topics/{topic}/records", show_value="detect")["records"]
        assert [each["value"]["format"] for each in detected] == ["json", "json"]


def test_an_avro_container_file_is_decoded_with_the_schema_that_it_carries(
    broker: EmbeddedBroker, client: ConsoleClient, topic: str
) -> None:
    out = io.BytesIO()
    fastavro.writer(out, json.loads(AVRO), [{"id": 1, "when": 0}, {"id": 2, "when": 1}], codec="deflate")
    _bare(broker, topic, out.getvalue())
    address = f"/clusters/local/topics/{topic}/records"
    (record,) = client.get(address)["records"]
    assert (record["value"]["format"], record["value"]["schema"]) == ("avro-file", "avro file of Order, codec deflate")
    assert [each["id"] for each in json.loads(record["value"]["text"])] == [1, 2]
    assert len(client.get(address, begin="oldest", filter=".[1].id == 2")["records"]) == 1
