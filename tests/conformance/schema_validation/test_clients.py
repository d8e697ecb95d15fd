"""librdkafka with Confluent's serializers, and kafka-python, at topics that require schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from tests.scenarios.client import Client
from tests.scenarios.schema_validation.stage import BY_ID, BY_PAYLOAD, Stage, stamped

AVRO = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]})
JSON = json.dumps({"type": "object", "title": "Order", "properties": {"id": {"type": "integer"}}, "required": ["id"]})
Serialize = Callable[[Any, SerializationContext], bytes]


def message_classes() -> tuple[Any, Any]:
    """Two messages of one file, as a compiler would generate them."""
    number = FieldDescriptorProto(name="id", number=1, type=FieldDescriptorProto.TYPE_INT64, label=FieldDescriptorProto.LABEL_OPTIONAL)
    messages = [DescriptorProto(name=name, field=[number]) for name in ("Order", "Invoice")]
    pool = DescriptorPool()
    pool.Add(FileDescriptorProto(name="order.proto", package="shop", syntax="proto3", message_type=messages))
    order, invoice = (message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}")) for name in ("Order", "Invoice"))
    return order, invoice


ORDER, INVOICE = message_classes()
FORMATS = {
    "avro": lambda registry, conf: AvroSerializer(registry, AVRO, conf=conf),
    "json": lambda registry, conf: JSONSerializer(JSON, registry, conf=conf),
    "protobuf": lambda registry, conf: ProtobufSerializer(INVOICE, registry, conf=conf),
}
VALUES = {"avro": {"id": 5}, "json": {"id": 5}, "protobuf": INVOICE(id=5)}
STRATEGIES = {
    "TopicNameStrategy": None,
    "RecordNameStrategy": record_subject_name_strategy,
    "TopicRecordNameStrategy": topic_record_subject_name_strategy,
}


class Reports:
    """What librdkafka says about each record."""

    def __init__(self, stage: Stage, **settings: Any) -> None:
        self.producer = Producer({"bootstrap.servers": stage.kafka.bootstrap, "linger.ms": 20, "log_level": 0, **settings})
        self.errors: list[int | None] = []

    def send(self, topic: str, *values: bytes | None, headers: Any = None) -> list[int | None]:
        """The error codes of these records, which go in one batch; None for a delivered one."""
        self.errors = []
        for value in values:
            self.producer.produce(topic, value, headers=headers, on_delivery=self._report)
        assert self.producer.flush(60) == 0
        return self.errors

    def _report(self, error: KafkaError | None, message: Message) -> None:
        self.errors.append(None if error is None else error.code())


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", FORMATS)
def test_records_of_confluents_serializers_pass_at_level_payload(stage: Stage, client: Client, kind: str, strategy: str) -> None:
    topic = stage.topic(client, {**BY_PAYLOAD, "barnabas.value.subject.name.strategy": strategy})
    conf = {} if STRATEGIES[strategy] is None else {"subject.name.strategy": STRATEGIES[strategy]}
    serialize = FORMATS[kind](SchemaRegistryClient({"url": stage.registry.url}), conf)
    value = serialize(VALUES[kind], SerializationContext(topic, MessageField.VALUE))
    assert value is not None
    reports = Reports(stage)
    assert reports.send(topic, value, value, None) == [None] * 3
    assert reports.send(topic, value[:-1]) == [KafkaError.INVALID_RECORD]
    assert client.end_offset(topic) == 3


@pytest.mark.parametrize("kind", FORMATS)
def test_records_with_the_schema_in_a_header_pass_at_level_payload(stage: Stage, client: Client, kind: str) -> None:
    topic = stage.topic(client, BY_PAYLOAD)
    conf = {"schema.id.serializer": header_schema_id_serializer}
    serialize = FORMATS[kind](SchemaRegistryClient({"url": stage.registry.url}), conf)
    headers: list[tuple[str, str | bytes | None]] = []
    value = serialize(VALUES[kind], SerializationContext(topic, MessageField.VALUE, headers))
    assert value is not None
    reports = Reports(stage)
    assert reports.send(topic, value, headers=headers) == [None]
    assert reports.send(topic, value[:-1], headers=headers) == [KafkaError.INVALID_RECORD]
    assert reports.send(topic, value) == [KafkaError.INVALID_RECORD], "without the header"


@pytest.mark.parametrize("settings", [{}, {"enable.idempotence": True}, {"compression.type": "lz4"}, {"acks": 1}], ids=str)
def test_librdkafka_reports_invalid_record_and_goes_on(stage: Stage, client: Client, settings: dict[str, Any]) -> None:
    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    reports = Reports(stage, **settings)
    assert reports.send(topic, good, good) == [None, None]
    for _ in range(3):
        # One bad record refuses its batch. When there are several, librdkafka tells the others
        # apart.
        assert reports.send(topic, good, b"raw") == [KafkaError.INVALID_RECORD] * 2
        assert reports.send(topic, b"raw", good, b"raw") == [
            KafkaError.INVALID_RECORD,
            KafkaError._INVALID_DIFFERENT_RECORD,
            KafkaError.INVALID_RECORD,
        ]
        assert reports.send(topic, good, good) == [None, None]
    assert client.end_offset(topic) == 8


def test_a_transaction_with_a_refused_record_is_aborted_and_a_new_producer_commits(stage: Stage, client: Client) -> None:
    """librdkafka counts the sequence numbers of a refused batch, so its next transaction fails,
    with Apache Kafka too. Java's producer goes on."""
    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    settings = {"transactional.id": f"t-{topic}"}
    reports = Reports(stage, **settings)
    reports.producer.init_transactions(60)
    reports.producer.begin_transaction()
    assert reports.send(topic, good) == [None]
    assert reports.send(topic, b"raw") == [KafkaError.INVALID_RECORD]
    reports.producer.abort_transaction(60)
    successor = Reports(stage, **settings)
    successor.producer.init_transactions(60)
    successor.producer.begin_transaction()
    assert successor.send(topic, good) == [None]
    successor.producer.commit_transaction(60)
    assert client.end_offset(topic) == 4  # two records and two markers


def test_kafka_python_raises_invalid_record(stage: Stage, client: Client) -> None:
    from kafka import KafkaProducer
    from kafka.errors import InvalidRecordError

    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    # An idempotent producer of kafka-python takes any final error for the end of all of its work.
    producer = KafkaProducer(bootstrap_servers=stage.kafka.bootstrap, enable_idempotence=False)
    try:
        assert producer.send(topic, good).get(60).offset == 0
        with pytest.raises(InvalidRecordError):
            producer.send(topic, b"raw").get(60)
        assert producer.send(topic, good).get(60).offset == 1
    finally:
        producer.close()
