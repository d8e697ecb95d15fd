"""Topics are created, grow, are deleted and are created again while clients work."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]
from kafka import KafkaProducer

from barnabas.testing import EmbeddedBroker
from tests.conformance.clients.conftest import MakeTopic
from tests.conformance.clients.three_clients import CLIENTS, QUIET, Client, Record, librdkafka_consumer, run
from tests.waiting import PATIENCE_SECONDS, until

# How often clients refresh their metadata by themselves.
FRESH = {"topic.metadata.refresh.interval.ms": 100, "metadata.max.age.ms": 1000}


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap})


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_producing_to_a_missing_topic_creates_it(bootstrap: str, client: Client) -> None:
    topic = f"appears-for-{client.name}"
    assert client.produce(bootstrap, topic, [Record(b"k", b"v")], partition=None) == [(0, 0)]
    assert [each.record.value for each in client.consume(bootstrap, topic, 1)] == [b"v"]


def test_missing_topics_are_not_created_where_that_is_disabled() -> None:
    with EmbeddedBroker(config={"auto.create.topics.enable": "false"}) as strict:
        producer = Producer({**QUIET, "bootstrap.servers": strict.bootstrap, "topic.metadata.propagation.max.ms": 0})
        failures: list[KafkaError | None] = []
        producer.produce("never", b"v", on_delivery=lambda error, _: failures.append(error))
        producer.flush(PATIENCE_SECONDS)
        (failure,) = failures
        assert failure is not None
        assert failure.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)


def test_new_partitions_are_found_by_a_producer_and_a_consumer(make_topic: MakeTopic, bootstrap: str, admin: AdminClient) -> None:
    topic = make_topic(1)
    producer = Producer({**QUIET, **FRESH, "bootstrap.servers": bootstrap, "partitioner": "consistent_random"})
    producer.produce(topic, b"before", partition=0)
    producer.flush(PATIENCE_SECONDS)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE_SECONDS)
    landed: set[int | None] = set()

    def all_are_found() -> bool:
        producer.produce(topic, b"after", on_delivery=lambda _, message: landed.add(message.partition()))
        producer.flush(PATIENCE_SECONDS)
        return landed == {0, 1, 2}

    until(all_are_found, "the producer writes to all three partitions", seen=lambda: landed, pause_seconds=0)
    assert CLIENTS[1].consume(bootstrap, topic, 1, partition=2)[0].record.value == b"after"


def test_a_topic_deleted_and_created_again_is_another_topic(make_topic: MakeTopic, bootstrap: str, admin: AdminClient) -> None:
    topic = make_topic(1)
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"old")] * 5)
    for _ in range(3):
        admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_SECONDS)
        assert CLIENTS[0].produce(bootstrap, topic, [Record(None, b"new")]) == [(0, 0)]
        for client in CLIENTS:
            assert [each.record.value for each in client.consume(bootstrap, topic, 1)] == [b"new"]


def test_a_producer_continues_when_its_topic_is_created_again(make_topic: MakeTopic, bootstrap: str, admin: AdminClient) -> None:
    """The topic id changes, and Produce v13 sends ids: the producer must notice and ask again."""
    topic = make_topic(1)
    producer = Producer({**QUIET, **FRESH, "bootstrap.servers": bootstrap, "enable.idempotence": False})
    offsets: list[int | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offsets.append(message.offset())

    producer.produce(topic, b"old", partition=0, on_delivery=delivered)
    producer.flush(PATIENCE_SECONDS)
    admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_SECONDS)
    producer.produce(topic, b"new", partition=0, on_delivery=delivered)
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert offsets == [0, 0]


def test_a_consumer_continues_when_its_topic_is_created_again(make_topic: MakeTopic, bootstrap: str, admin: AdminClient) -> None:
    topic = make_topic(1)
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"old")])
    consumer = librdkafka_consumer(
        bootstrap, auto_offset_reset="earliest", topic_metadata_refresh_interval_ms=100, metadata_max_age_ms=1000
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert value_of(consumer) == b"old"
    admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_SECONDS)
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"new")] * 3)
    # The consumer is at offset 1 and reads on from there, or starts again; the old record is gone.
    assert value_of(consumer) == b"new"
    consumer.close()


def value_of(consumer: Consumer) -> bytes | None:
    """The next record, ignoring the errors that a client reports while a topic is missing."""

    def record() -> Message | None:
        message = consumer.poll(1)
        return message if message is not None and message.error() is None else None

    value: bytes | None = until(lambda: [found for found in [record()] if found is not None], "a record comes", pause_seconds=0)[0].value()
    return value


def test_python_producers_continue_when_their_topic_is_created_again(make_topic: MakeTopic, bootstrap: str, admin: AdminClient) -> None:
    topic = make_topic(1)

    def again() -> None:
        admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_SECONDS)

    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=False, retry_backoff_ms=50)
    assert producer.send(topic, b"old", partition=0).get(PATIENCE_SECONDS).offset == 0
    again()
    assert producer.send(topic, b"new", partition=0).get(PATIENCE_SECONDS).offset == 0
    producer.close()

    async def claims() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, retry_backoff_ms=50) as aio:
            assert (await aio.send_and_wait(topic, b"old", partition=0)).offset == 1
            await asyncio.to_thread(again)
            assert (await aio.send_and_wait(topic, b"new", partition=0)).offset == 0

    run(claims())


def test_a_deleted_topic_is_unknown(make_topic: MakeTopic, bootstrap: str, admin: AdminClient) -> None:
    topic = make_topic(1)
    consumer = librdkafka_consumer(bootstrap, allow_auto_create_topics=False)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_SECONDS) == (0, 0)
    admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)
    with pytest.raises(KafkaException):
        consumer.get_watermark_offsets(TopicPartition(topic, 0), 3)
    consumer.close()
