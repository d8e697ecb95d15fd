"""Transactions of aiokafka and kafka-python: the same claims as for librdkafka, with their own code
and requests.
"""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition as AioKafkaPartition
from aiokafka.errors import ProducerFenced
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition as KafkaPythonPartition
from kafka.errors import KafkaError, ProducerFencedError

from tests.conformance.clients.three_clients import run
from tests.conformance.groups.conftest import MakeTopic, fill, numbered
from tests.conformance.groups.test_commits import committed
from tests.conformance.groups.test_transactions import begun, read, send, will_read
from tests.waiting import PATIENCE_SECONDS

# -- aiokafka ---------------------------------------------------------------------------------


def test_aiokafka_commits_and_aborts(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=group) as producer:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"committed", partition=0)
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"aborted", partition=0)
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send_and_wait(topic, b"again", partition=0)

    run(write())
    will_read(bootstrap, topic, [b"committed", b"again"])
    assert read(bootstrap, topic, isolation="read_uncommitted") == [b"committed", b"aborted", b"again"]

    async def values(isolation: str, count: int) -> list[bytes | None]:
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation) as consumer:
            consumer.assign([AioKafkaPartition(topic, 0)])
            await consumer.seek_to_beginning()
            return [(await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)).value for _ in range(count)]

    assert run(values("read_committed", 2)) == [b"committed", b"again"]
    assert run(values("read_uncommitted", 3)) == [b"committed", b"aborted", b"again"]


def test_aiokafka_transforms_with_offsets(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    source, target = make_topic(1), make_topic(1)
    fill(bootstrap, source, numbered(0, 30))

    async def transform() -> None:
        async with (
            AIOKafkaConsumer(
                source, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest"
            ) as consumer,
            AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{group}-writer") as producer,
        ):
            for _ in range(3):
                messages = [await consumer.getone() for _ in range(10)]
                async with producer.transaction():
                    for message in messages:
                        await producer.send(target, message.value, partition=0)
                    offsets = {AioKafkaPartition(source, 0): messages[-1].offset + 1}
                    await producer.send_offsets_to_transaction(offsets, group)

    run(transform())
    will_read(bootstrap, target, numbered(0, 30))
    assert committed(bootstrap, group, source)[0] == 30


def test_a_zombie_of_aiokafka_is_fenced_by_a_successor_of_librdkafka(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)

    async def claims() -> None:
        zombie = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=group)
        await zombie.start()
        await zombie.begin_transaction()
        await zombie.send_and_wait(topic, b"of the zombie", partition=0)
        heir = await asyncio.to_thread(begun, bootstrap, group)
        with pytest.raises(ProducerFenced):
            await zombie.commit_transaction()
        heir.begin_transaction()
        await asyncio.to_thread(send, heir, topic, b"of the heir")
        await asyncio.to_thread(heir.commit_transaction, PATIENCE_SECONDS)
        await zombie.stop()

    run(claims())
    will_read(bootstrap, topic, [b"of the heir"])


# -- kafka-python -----------------------------------------------------------------------------


def python_producer(bootstrap: str, transactional_id: str) -> KafkaProducer:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id, retry_backoff_ms=20)
    producer.init_transactions()
    return producer


def test_kafka_python_commits_and_aborts(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    producer = python_producer(bootstrap, group)
    for outcome in ("commit", "abort", "commit"):
        producer.begin_transaction()
        producer.send(topic, outcome.encode(), partition=0).get(PATIENCE_SECONDS)
        getattr(producer, f"{outcome}_transaction")()
    producer.close()
    will_read(bootstrap, topic, [b"commit", b"commit"])
    for isolation, expected in (("read_committed", [b"commit"] * 2), ("read_uncommitted", [b"commit", b"abort", b"commit"])):
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, isolation_level=isolation)
        consumer.assign([KafkaPythonPartition(topic, 0)])
        consumer.seek_to_beginning()
        assert [next(consumer).value for _ in expected] == expected
        consumer.close()


def test_kafka_python_transforms_with_offsets(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    source, target = make_topic(1), make_topic(1)
    fill(bootstrap, source, numbered(0, 30))
    partition = KafkaPythonPartition(source, 0)
    consumer = KafkaConsumer(
        source, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", max_poll_records=10
    )
    producer = python_producer(bootstrap, f"{group}-writer")
    done = 0
    while done < 30:
        for messages in consumer.poll(timeout_ms=1000).values():
            producer.begin_transaction()
            for message in messages:
                producer.send(target, message.value, partition=0)
            done = messages[-1].offset + 1
            producer.send_offsets_to_transaction({partition: OffsetAndMetadata(done, "", -1)}, consumer.group_metadata())
            producer.commit_transaction()
    consumer.close(autocommit=False)
    producer.close()
    will_read(bootstrap, target, numbered(0, 30))
    assert committed(bootstrap, group, source)[0] == 30


def test_a_zombie_of_kafka_python_is_fenced(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    zombie = python_producer(bootstrap, group)
    zombie.begin_transaction()
    zombie.send(topic, b"of the zombie", partition=0).get(PATIENCE_SECONDS)
    heir = python_producer(bootstrap, group)
    heir.begin_transaction()
    heir.send(topic, b"of the heir", partition=0).get(PATIENCE_SECONDS)
    with pytest.raises(KafkaError) as fenced:
        zombie.commit_transaction()
    assert isinstance(fenced.value, ProducerFencedError) or "Fenced" in repr(fenced.value), fenced.value
    heir.commit_transaction()
    will_read(bootstrap, topic, [b"of the heir"])
    for producer in (zombie, heir):
        producer.close(timeout=1)
