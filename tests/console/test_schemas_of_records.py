"""Records with schemas of a registry, written by the serializers of confluent-kafka."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of

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
    words = console.get("/clusters/local/sql/complete", query=f"SELECT i FROM `{topic}`", position=8)["words"]
    assert words[0] == {"text": "id", "kind": "column"}
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
