"""Our serializers beside confluent-kafka's: each reads what the other writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.schema_registry import (
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
    Schema,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirAvroDeserializer, AvroSerializer as TheirAvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import (
    ProtobufDeserializer as TheirProtobufDeserializer,
    ProtobufSerializer as TheirProtobufSerializer,
)
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from barnabas.registry_client import NotFound, RegistryClient, RegistryRefused
from barnabas.schemas import (
    AvroDeserializer,
    AvroSerializer,
    Digits,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    RecordContext,
    by_topic_record,
)
from barnabas.schemas.errors import DoesNotDecode
from barnabas.testing import EmbeddedBroker
from tests.registry_process import RegistryProcess


@dataclass
class Line:
    name: str
    price: Annotated[Decimal, Digits(10, 2)]


@dataclass
class Payment:
    id: UUID
    at: datetime
    lines: list[Line]
    note: str | None = None
    tags: dict[str, str] = field(default_factory=dict)


PAYMENT = Payment(UUID(int=7), datetime(2026, 1, 1, 12, tzinfo=UTC), [Line("a", Decimal("1.25"))], "n", {"k": "v"})


@pytest.fixture
def theirs(registry: RegistryProcess) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


@pytest.fixture
def ours(registry: RegistryProcess) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url) as client:
        yield client


@pytest.fixture
def topic() -> str:
    return f"payments-{uuid4()}"


def context(topic: str, *, is_key: bool = False) -> SerializationContext:
    return SerializationContext(topic, MessageField.KEY if is_key else MessageField.VALUE, [])


# -- Avro ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_header", [False, True])
@pytest.mark.parametrize("is_key", [False, True])
def test_confluents_avro_deserializer_reads_a_dataclass(
    ours: RegistryClient, theirs: SchemaRegistryClient, topic: str, in_header: bool, is_key: bool
) -> None:
    ctx = context(topic, is_key=is_key)
    written = AvroSerializer(ours, Payment, in_header=in_header)(PAYMENT, ctx)
    assert bool(ctx.headers) is in_header
    assert TheirAvroDeserializer(theirs)(written, ctx) == asdict(PAYMENT)
    assert AvroDeserializer(ours, Payment)(written, ctx) == PAYMENT


@pytest.mark.parametrize("in_header", [False, True])
def test_confluents_avro_serializer_writes_what_a_dataclass_reads(
    ours: RegistryClient, theirs: SchemaRegistryClient, topic: str, in_header: bool
) -> None:
    AvroSerializer(ours, Payment)(PAYMENT, context(topic))
    schema = ours.latest(f"{topic}-value").text
    conf = {"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    ctx = context(topic)
    written = TheirAvroSerializer(theirs, schema, conf=conf)(asdict(PAYMENT), ctx)
    assert written is not None
    assert AvroDeserializer(ours, Payment)(written, ctx) == PAYMENT
    assert AvroDeserializer(ours)(written, ctx) == asdict(PAYMENT)


def test_both_serializers_have_the_same_bytes(ours: RegistryClient, theirs: SchemaRegistryClient, topic: str) -> None:
    written = AvroSerializer(ours, Payment)(PAYMENT, context(topic))
    assert TheirAvroSerializer(theirs, ours.latest(f"{topic}-value").text)(asdict(PAYMENT), context(topic)) == written


@dataclass
class NewerPayment:
    id: UUID
    lines: list[Line]
    currency: str = "EUR"
    note: str | None = None


@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_newer_reader_reads_older_avro_records(ours: RegistryClient, theirs: SchemaRegistryClient, topic: str, writer: str) -> None:
    written: Any = AvroSerializer(ours, Payment)(PAYMENT, context(topic))
    if writer == "theirs":
        written = TheirAvroSerializer(theirs, ours.latest(f"{topic}-value").text)(asdict(PAYMENT), context(topic))
    assert AvroDeserializer(ours, NewerPayment)(written) == NewerPayment(PAYMENT.id, PAYMENT.lines, "EUR", "n")


def test_incompatible_type_is_refused_by_the_registry(ours: RegistryClient, topic: str) -> None:
    @dataclass
    class Other:
        id: int

    AvroSerializer(ours, Payment)(PAYMENT, context(topic))
    with pytest.raises(RegistryRefused) as refused:
        AvroSerializer(ours, Other)(Other(1), context(topic))
    assert refused.value.code == 40901
    with pytest.raises(NotFound):
        AvroSerializer(ours, Other, auto_register=False)(Other(1), context(topic))


# -- JSON Schema -----------------------------------------------------------------------------------


@pytest.mark.parametrize("in_header", [False, True])
def test_confluents_json_deserializer_reads_a_dataclass(
    ours: RegistryClient, theirs: SchemaRegistryClient, topic: str, in_header: bool
) -> None:
    ctx = context(topic)
    written = JsonSerializer(ours, Payment, in_header=in_header)(PAYMENT, ctx)
    schema = ours.latest(f"{topic}-value").text
    read = JSONDeserializer(schema, schema_registry_client=theirs)(written, ctx)
    assert read["lines"] == [{"name": "a", "price": "1.25"}]
    assert JsonDeserializer(ours, Payment)(written, ctx) == PAYMENT


@pytest.mark.parametrize("in_header", [False, True])
def test_confluents_json_serializer_writes_what_a_dataclass_reads(
    ours: RegistryClient, theirs: SchemaRegistryClient, topic: str, in_header: bool
) -> None:
    schema = {"type": "object", "title": "Line", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
    conf = {"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    ctx = context(topic)
    written = JSONSerializer(json.dumps(schema), theirs, conf=conf)({"name": "a", "price": 1.25}, ctx)
    assert written is not None
    assert JsonDeserializer(ours, Line)(written, ctx) == Line("a", Decimal("1.25"))


def test_pydantic_model_evolves_in_the_registry(ours: RegistryClient, theirs: SchemaRegistryClient, topic: str) -> None:
    pydantic = pytest.importorskip("pydantic")
    older = pydantic.create_model("Order", id=(int, ...))
    newer = pydantic.create_model("Order", id=(int, ...), note=(str | None, None))
    written = JsonSerializer(ours, older)(older(id=1), context(topic))
    assert JsonDeserializer(ours, newer)(written) == newer(id=1, note=None)
    newest = JsonSerializer(ours, newer)(newer(id=2, note="x"), context(topic))
    assert ours.versions(f"{topic}-value") == [1, 2]
    # The older model ignores what it does not know.
    assert JsonDeserializer(ours, older)(newest) == older(id=2)
    assert JSONDeserializer(ours.latest(f"{topic}-value").text, schema_registry_client=theirs)(newest, context(topic)) == {
        "id": 2,
        "note": "x",
    }


# -- Protobuf --------------------------------------------------------------------------------------


def _field(name: str, number: int, type_: Any, **more: Any) -> FieldDescriptorProto:
    return FieldDescriptorProto(name=name, number=number, type=type_, label=FieldDescriptorProto.LABEL_OPTIONAL, **more)


def generated() -> tuple[Any, Any]:
    """Two messages as a compiler would generate them: the second, and one nested in it. Their file
    imports another one."""
    text = FieldDescriptorProto.TYPE_STRING
    money = FileDescriptorProto(name=f"money-{uuid4()}.proto", package="bank", syntax="proto3")
    money.message_type.append(DescriptorProto(name="Money", field=[_field("amount", 1, FieldDescriptorProto.TYPE_SINT64)]))
    inner = DescriptorProto(name="Inner", field=[_field("deep", 1, text)])
    fields = [_field("id", 1, text), _field("price", 2, FieldDescriptorProto.TYPE_MESSAGE, type_name=".bank.Money")]
    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3", dependency=[money.name])
    file.message_type.extend([DescriptorProto(name="First"), DescriptorProto(name="Order", field=fields, nested_type=[inner])])
    pool = DescriptorPool()
    pool.Add(money)
    pool.Add(file)
    find = pool.FindMessageTypeByName
    return message_factory.GetMessageClass(find("shop.Order")), message_factory.GetMessageClass(find("shop.Order.Inner"))


@pytest.mark.parametrize("in_header", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_generated_messages_travel_in_both_directions(
    ours: RegistryClient, theirs: SchemaRegistryClient, topic: str, in_header: bool, nested: bool
) -> None:
    order, inner = generated()
    type_, sent = (inner, inner(deep="x")) if nested else (order, order(id="1", price={"amount": -5}))
    ctx = context(topic)
    written = ProtobufSerializer(ours, type_, in_header=in_header)(sent, ctx)
    assert TheirProtobufDeserializer(type_, schema_registry_client=theirs)(written, ctx) == sent
    assert ProtobufDeserializer(ours, type_)(written, ctx) == sent

    conf = {"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    theirs_ctx = context(f"{topic}-theirs")
    by_them = TheirProtobufSerializer(type_, theirs, conf=conf)(sent, theirs_ctx)
    assert by_them is not None
    assert ProtobufDeserializer(ours, type_)(by_them, theirs_ctx) == sent
    assert ProtobufDeserializer(ours)(by_them, theirs_ctx) == ({"deep": "x"} if nested else {"id": "1", "price": {"amount": -5}})
    with pytest.raises(DoesNotDecode, match="and not shop"):
        ProtobufDeserializer(ours, order if nested else inner)(by_them, theirs_ctx)


def test_dict_by_a_schema_is_a_message_for_confluents_deserializer(ours: RegistryClient, theirs: SchemaRegistryClient, topic: str) -> None:
    order, _ = generated()
    schema = 'syntax = "proto3"; package shop; message First {} message Order { string id = 1; }'
    written = ProtobufSerializer(ours, schema=schema, message="shop.Order")({"id": "5"}, context(topic))
    assert TheirProtobufDeserializer(order, schema_registry_client=theirs)(written, context(topic)).id == "5"


# -- subjects --------------------------------------------------------------------------------------


def test_associated_subject_is_that_of_confluents_serializer(ours: RegistryClient, theirs: SchemaRegistryClient, topic: str) -> None:
    subject = f"shared-{topic}"
    theirs.register_schema(subject, Schema('"string"', "AVRO"))
    theirs.create_association(
        AssociationCreateOrUpdateRequest(
            resource_name=topic,
            resource_namespace="-",
            resource_id=str(uuid4()),
            resource_type="topic",
            associations=[AssociationCreateOrUpdateInfo(subject=subject, association_type="value")],
        )
    )
    by_us = AvroSerializer(ours, str)("x", context(topic))
    by_them = TheirAvroSerializer(theirs, '"string"')("x", context(topic))
    assert by_us == by_them
    assert ours.versions(subject) == [1]
    with pytest.raises(NotFound):
        ours.versions(f"{topic}-value")


def test_subjects_of_records_are_those_of_confluents_strategies(ours: RegistryClient, theirs: SchemaRegistryClient, topic: str) -> None:
    by_us = AvroSerializer(ours, Line, subject=by_topic_record, namespace="bank")(Line("a", Decimal(1)), context(topic))
    text = ours.latest(f"{topic}-bank.Line").text
    conf = {"subject.name.strategy.type": "TOPIC_RECORD"}
    assert TheirAvroSerializer(theirs, text, conf=conf)({"name": "a", "price": Decimal(1)}, context(topic)) == by_us


# -- clients ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.mark.parametrize("in_header", [False, True])
def test_confluents_producer_and_consumer_call_our_serdes(kafka: EmbeddedBroker, ours: RegistryClient, topic: str, in_header: bool) -> None:
    producer = SerializingProducer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "key.serializer": AvroSerializer(ours, str),
            "value.serializer": AvroSerializer(ours, Payment, in_header=in_header),
        }
    )
    producer.produce(topic, key="k", value=PAYMENT, headers=[])
    producer.produce(topic, key="gone", value=None, headers=[])
    assert producer.flush(60) == 0
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "key.deserializer": AvroDeserializer(ours, str),
            "value.deserializer": AvroDeserializer(ours, Payment),
        }
    )
    try:
        consumer.subscribe([topic])
        records: list[tuple[Any, Any]] = []
        while len(records) < 2:
            message = consumer.poll(60)
            assert message is not None
            assert message.error() is None
            records.append((message.key(), message.value()))
        assert sorted(records, key=lambda pair: str(pair[0])) == [("gone", None), ("k", PAYMENT)]
    finally:
        consumer.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("in_header", [False, True])
def test_kafka_python_calls_our_serdes(kafka: EmbeddedBroker, ours: RegistryClient, topic: str, in_header: bool) -> None:
    # kafka-python warns when it is imported.
    from kafka import KafkaConsumer, KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        key_serializer=JsonSerializer(ours, str, in_header=in_header).for_kafka_python(is_key=True),
        value_serializer=JsonSerializer(ours, Payment, in_header=in_header).for_kafka_python(),
    )
    try:
        producer.send(topic, key="k", value=PAYMENT).get(60)
    finally:
        producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset="earliest",
        key_deserializer=JsonDeserializer(ours, str).for_kafka_python(is_key=True),
        value_deserializer=JsonDeserializer(ours, Payment).for_kafka_python(),
        consumer_timeout_ms=60_000,
    )
    try:
        record = next(iter(consumer))
        assert (record.key, record.value) == ("k", PAYMENT)
    finally:
        consumer.close()


def test_aiokafka_calls_our_serdes(kafka: EmbeddedBroker, ours: RegistryClient, topic: str) -> None:
    async def travel() -> list[Any]:
        serialize = AvroSerializer(ours, Payment)
        in_header = AvroSerializer(ours, Payment, in_header=True)
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, value_serializer=serialize.for_topic(topic)) as producer:
            await producer.send_and_wait(topic, PAYMENT)
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as plain:
            headers: list[tuple[str, bytes]] = []
            await plain.send_and_wait(topic, in_header(PAYMENT, RecordContext(topic, "value", headers)), headers=headers)
        deserialize = AvroDeserializer(ours, Payment)
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
        async with consumer:
            records = [await asyncio.wait_for(consumer.getone(), 60) for _ in range(2)]
        return [deserialize(each.value, RecordContext(topic, "value", list(each.headers))) for each in records]

    assert asyncio.run(travel()) == [PAYMENT, PAYMENT]
