"""The node stops or is killed and comes back: acknowledged records are there, and clients
continue.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from itertools import count

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]
from kafka import KafkaProducer

from barnabas.testing import EmbeddedBroker
from tests.conformance.clients.three_clients import CLIENTS, QUIET, Record, error_code, librdkafka_consumer, run
from tests.waiting import PATIENCE_SECONDS

ENDINGS = pytest.mark.parametrize("ending", ["stop", "kill"])


_numbers = count()


@pytest.fixture(scope="module")
def node() -> Iterator[EmbeddedBroker]:
    """One for all tests: a start costs a second of a processor, and they restart it anyway."""
    with EmbeddedBroker(process=True) as running:
        yield running


@pytest.fixture
def topic(node: EmbeddedBroker) -> str:
    name = f"survivor-{next(_numbers)}"
    create(node, name)
    return name


def create(node: EmbeddedBroker, topic: str) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "-1"})])[topic].result(PATIENCE_SECONDS)


def restart(node: EmbeddedBroker, ending: str) -> None:
    getattr(node, ending)()
    node.start()


@ENDINGS
def test_records_and_topics_survive_a_restart(node: EmbeddedBroker, ending: str) -> None:
    """Each client has a topic; the node is restarted twice for all of them."""
    records = [Record(f"{number}".encode(), bytes(100), (("h", b"v"),), 1_790_000_000_000 + number) for number in range(500)]
    topics = {f"{ending}-{client.name}": client for client in CLIENTS}
    for topic, client in topics.items():
        create(node, topic)
        client.produce(node.bootstrap, topic, records, codec="zstd", idempotent=True)
    restart(node, ending)
    for topic, client in topics.items():
        found = client.consume(node.bootstrap, topic, 500)
        assert [each.record for each in found] == records
        assert client.produce(node.bootstrap, topic, [Record(None, b"after")], idempotent=True) == [(0, 500)]
    restart(node, ending)
    for topic, client in topics.items():
        assert client.consume(node.bootstrap, topic, 1, offset=500)[0].record.value == b"after"
        admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
        assert sorted(admin.list_topics(timeout=PATIENCE_SECONDS).topics[topic].partitions) == [0, 1]


@ENDINGS
def test_an_idempotent_producer_loses_and_repeats_nothing(node: EmbeddedBroker, topic: str, ending: str) -> None:
    """Records sent before, during and after a restart are read back once and in order."""
    producer = Producer(
        {**QUIET, "bootstrap.servers": node.bootstrap, "enable.idempotence": True, "linger.ms": 1, "reconnect.backoff.max.ms": 200}
        | {"metadata.recovery.strategy": "none"}
    )
    failures: list[str] = []
    delivered = 0

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        nonlocal delivered
        if error is not None:
            failures.append(str(error))
        delivered += 1

    total = 3000
    restarted = threading.Event()

    def restart_in_the_middle() -> None:
        restart(node, ending)
        restarted.set()

    restarter = threading.Thread(target=restart_in_the_middle)
    for number in range(total):
        producer.produce(topic, f"{number}".encode(), partition=0, on_delivery=on_delivery)
        producer.poll(0)
        if number == 1000:
            while delivered < 500:
                producer.poll(0.1)
            restarter.start()
        if number == 2000:
            assert restarted.wait(PATIENCE_SECONDS)
    assert producer.flush(2 * PATIENCE_SECONDS) == 0
    restarter.join()
    assert failures == []
    found = CLIENTS[0].consume(node.bootstrap, topic, total)
    assert [int(each.record.value or b"") for each in found] == list(range(total))
    consumer = librdkafka_consumer(node.bootstrap)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_SECONDS) == (0, total)
    consumer.close()


@ENDINGS
def test_a_consumer_continues_after_a_restart(node: EmbeddedBroker, topic: str, ending: str) -> None:
    # With metadata recovery by rebootstrap, librdkafka sometimes waits for a broker handle that it
    # has given up when its only broker is gone.
    consumer = librdkafka_consumer(node.bootstrap, reconnect_backoff_max_ms=200, metadata_recovery_strategy="none")
    consumer.assign([TopicPartition(topic, 1, 0)])
    for number in range(3):
        CLIENTS[0].produce(node.bootstrap, topic, [Record(None, f"{number}".encode())], partition=1)
        while (message := consumer.poll(PATIENCE_SECONDS)) is not None and message.error() is not None:
            assert error_code(message) in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)
        assert message is not None
        assert message.value() == f"{number}".encode()
        restart(node, ending)
    consumer.close()


@ENDINGS
def test_python_producers_continue_after_a_restart(node: EmbeddedBroker, topic: str, ending: str) -> None:
    producer = KafkaProducer(bootstrap_servers=node.bootstrap, retry_backoff_ms=50, reconnect_backoff_ms=50, enable_idempotence=True)
    assert producer.send(topic, b"0", partition=0).get(PATIENCE_SECONDS).offset == 0
    restart(node, ending)
    assert producer.send(topic, b"1", partition=0).get(PATIENCE_SECONDS).offset == 1
    producer.close()

    async def claims() -> None:
        async with AIOKafkaProducer(bootstrap_servers=node.bootstrap, retry_backoff_ms=50, enable_idempotence=True) as aio:
            assert (await aio.send_and_wait(topic, b"2", partition=0)).offset == 2
            await asyncio.to_thread(restart, node, ending)
            assert (await aio.send_and_wait(topic, b"3", partition=0)).offset == 3

    run(claims())


def test_settings_survive_a_restart(node: EmbeddedBroker, topic: str) -> None:
    def admin() -> AdminClient:
        return AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})

    change = [ConfigEntry("segment.ms", "123456", incremental_operation=AlterConfigOpType.SET)]
    first = admin()
    (changed,) = first.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=change)]).values()
    changed.result(PATIENCE_SECONDS)
    for ending in ("stop", "kill"):
        restart(node, ending)
        later = admin()
        (shown,) = later.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        settings = shown.result(PATIENCE_SECONDS)
        assert (settings["segment.ms"].value, settings["retention.ms"].value) == ("123456", "-1")
