"""Positions and waits of consumers: offsets, times, watermarks, long polls and limits."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition as AioKafkaPartition
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from kafka import KafkaConsumer, TopicPartition as KafkaPythonPartition

from tests.conformance.clients.conftest import MakeTopic
from tests.conformance.clients.three_clients import CLIENTS, QUIET, Record, error_code, librdkafka_consumer, run
from tests.waiting import PATIENCE_SECONDS

MINUTE_MS = 60_000


def numbered(count: int, *, first_time: int = 1000) -> list[Record]:
    """Records with the timestamps 1000, 1010, 1020 and so on."""
    return [Record(None, f"{number}".encode(), (), first_time + 10 * number) for number in range(count)]


def fill(bootstrap: str, topic: str, count: int = 10, partition: int = 0) -> None:
    CLIENTS[0].produce(bootstrap, topic, numbered(count), partition=partition)


def next_value(consumer: Consumer, seconds: float = PATIENCE_SECONDS) -> bytes | None:
    message = consumer.poll(seconds)
    if message is None:
        return None
    assert message.error() is None, message.error()
    value: bytes | None = message.value()
    return value


# -- positions --------------------------------------------------------------------------------


def test_librdkafka_finds_offsets_by_time_and_watermarks(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    fill(bootstrap, topic)
    consumer = librdkafka_consumer(bootstrap)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_SECONDS) == (0, 10)
    for where, first in ((OFFSET_BEGINNING, b"0"), (7, b"7")):
        consumer.assign([TopicPartition(topic, 0, where)])
        assert next_value(consumer) == first
    consumer.seek(TopicPartition(topic, 0, 3))
    assert next_value(consumer) == b"3"
    for time, offset in ((0, 0), (1000, 0), (1001, 1), (1045, 5), (1090, 9), (1091, 10)):
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, time)], PATIENCE_SECONDS)
        # After the last record there is no offset; librdkafka reports that as "the end".
        assert found.offset == (offset if offset < 10 else OFFSET_END)
    consumer.close()


def test_kafka_python_finds_offsets_by_time_and_watermarks(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    fill(bootstrap, topic)
    partition = KafkaPythonPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None)
    consumer.assign([partition])
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 10}
    assert consumer.offsets_for_times({partition: 1045})[partition].offset == 5
    assert consumer.offsets_for_times({partition: 9999})[partition] is None
    consumer.seek_to_beginning()
    assert next(consumer).value == b"0"
    consumer.seek(partition, 6)
    assert next(consumer).value == b"6"
    consumer.seek_to_end()
    assert consumer.position(partition) == 10
    assert consumer.partitions_for_topic(topic) == {0}
    consumer.close()


def test_aiokafka_finds_offsets_by_time_and_watermarks(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    fill(bootstrap, topic)

    async def claims() -> None:
        partition = AioKafkaPartition(topic, 0)
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None) as consumer:
            consumer.assign([partition])
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: 10}
            assert (await consumer.offsets_for_times({partition: 1045}))[partition].offset == 5
            await consumer.seek_to_beginning(partition)
            assert (await consumer.getone()).value == b"0"
            consumer.seek(partition, 6)
            assert (await consumer.getone()).value == b"6"
            await consumer.seek_to_end(partition)
            assert await consumer.position(partition) == 10

    run(claims())


def test_librdkafka_lists_offsets_by_every_specification(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"v", (), time) for time in (5000, 9000, 7000)])
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    partition = TopicPartition(topic, 0)
    kinds: Any = OffsetSpec
    specifications = {
        kinds.earliest(): (0, -1),
        kinds.latest(): (3, -1),
        kinds.max_timestamp(): (1, 9000),
        kinds.for_timestamp(6000): (1, 9000),
        kinds.for_timestamp(9001): (-1, -1),
    }
    for specification, (offset, time) in specifications.items():
        found = admin.list_offsets({partition: specification})[partition].result(PATIENCE_SECONDS)
        assert (found.offset, found.timestamp) == (offset, time)


@pytest.mark.parametrize(("reset", "first"), [("earliest", b"5"), ("latest", b"new")])
def test_an_offset_below_the_log_start_is_reset(make_topic: MakeTopic, bootstrap: str, reset: str, first: bytes) -> None:
    topic = make_topic()
    fill(bootstrap, topic)
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    (deleted,) = admin.delete_records([TopicPartition(topic, 0, 5)]).values()
    assert deleted.result(PATIENCE_SECONDS).low_watermark == 5
    consumer = librdkafka_consumer(bootstrap, auto_offset_reset=reset, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 2)])
    if reset == "latest":
        assert error_code(consumer.poll(PATIENCE_SECONDS)) == KafkaError._PARTITION_EOF
        CLIENTS[0].produce(bootstrap, topic, [Record(None, b"new")])
    assert next_value(consumer) == first
    consumer.close()


def test_an_offset_out_of_range_is_an_error_without_a_reset_policy(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    consumer = librdkafka_consumer(bootstrap, auto_offset_reset="error")
    consumer.assign([TopicPartition(topic, 0, 99)])
    assert error_code(consumer.poll(PATIENCE_SECONDS)) == KafkaError._AUTO_OFFSET_RESET
    consumer.close()


def test_the_end_of_a_partition_is_reported_each_time(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    consumer = librdkafka_consumer(bootstrap, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 0)])
    for number in range(3):
        assert error_code(consumer.poll(PATIENCE_SECONDS)) == KafkaError._PARTITION_EOF
        CLIENTS[0].produce(bootstrap, topic, [Record(None, f"{number}".encode())])
        assert next_value(consumer) == f"{number}".encode()
    consumer.close()


# -- waiting ----------------------------------------------------------------------------------


def test_a_waiting_librdkafka_consumer_gets_a_new_record(make_topic: MakeTopic, bootstrap: str) -> None:
    """The fetch may wait two minutes; the test gives up earlier."""
    topic = make_topic()
    consumer = librdkafka_consumer(bootstrap, fetch_wait_max_ms=2 * MINUTE_MS, socket_timeout_ms=3 * MINUTE_MS)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert next_value(consumer, 0.2) is None
    for number in range(5):
        CLIENTS[0].produce(bootstrap, topic, [Record(None, f"{number}".encode())])
        assert next_value(consumer) == f"{number}".encode()
    consumer.close()


def test_a_waiting_kafka_python_consumer_gets_a_new_record(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        fetch_max_wait_ms=2 * MINUTE_MS,
        request_timeout_ms=4 * MINUTE_MS,
        connections_max_idle_ms=5 * MINUTE_MS,
        consumer_timeout_ms=PATIENCE_SECONDS * 1000,
    )
    partition = KafkaPythonPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    assert consumer.poll(200) == {}
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"at last")])
    assert next(consumer).value == b"at last"
    consumer.close()


def test_a_waiting_aiokafka_consumer_gets_a_new_record(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()

    async def claims() -> None:
        partition = AioKafkaPartition(topic, 0)
        async with AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, fetch_max_wait_ms=2 * MINUTE_MS, request_timeout_ms=4 * MINUTE_MS
        ) as consumer:
            consumer.assign([partition])
            consumer.seek(partition, 0)
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.2)
            assert not waiting.done()
            await asyncio.to_thread(CLIENTS[0].produce, bootstrap, topic, [Record(None, b"at last")])
            assert (await asyncio.wait_for(waiting, PATIENCE_SECONDS)).value == b"at last"

    run(claims())


def test_all_waiting_consumers_receive_the_same_record(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    got: list[bytes | None] = []
    ready = threading.Barrier(9)

    def wait() -> None:
        consumer = librdkafka_consumer(bootstrap, fetch_wait_max_ms=2 * MINUTE_MS, socket_timeout_ms=3 * MINUTE_MS)
        consumer.assign([TopicPartition(topic, 0, 0)])
        consumer.poll(0)
        ready.wait(PATIENCE_SECONDS)
        got.append(next_value(consumer))
        consumer.close()

    threads = [threading.Thread(target=wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    ready.wait(PATIENCE_SECONDS)
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"for all")])
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert got == [b"for all"] * 8


def test_a_fetch_waits_for_as_many_bytes_as_it_asked_for(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    consumer = librdkafka_consumer(bootstrap, fetch_min_bytes=5000, fetch_wait_max_ms=2 * MINUTE_MS, socket_timeout_ms=3 * MINUTE_MS)
    consumer.assign([TopicPartition(topic, 0, 0)])
    CLIENTS[0].produce(bootstrap, topic, [Record(None, bytes(1000))])
    assert next_value(consumer, 0.5) is None
    CLIENTS[0].produce(bootstrap, topic, [Record(None, bytes(5000))])
    assert len(next_value(consumer) or b"") == 1000
    assert len(next_value(consumer) or b"") == 5000
    consumer.close()


def test_a_batch_larger_than_the_fetch_limit_is_delivered(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    CLIENTS[0].produce(bootstrap, topic, [Record(None, bytes(200_000)), Record(None, b"after it")])
    consumer = librdkafka_consumer(bootstrap, fetch_message_max_bytes=1000, fetch_max_bytes=1000, message_max_bytes=1000)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(next_value(consumer) or b"") == 200_000
    assert next_value(consumer) == b"after it"
    consumer.close()


def test_small_fetch_limits_deliver_every_record(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic(4)
    for partition in range(4):
        for _ in range(5):
            fill(bootstrap, topic, 20, partition=partition)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        max_partition_fetch_bytes=300,
        fetch_max_bytes=600,
        consumer_timeout_ms=PATIENCE_SECONDS * 1000,
    )
    partitions = [KafkaPythonPartition(topic, partition) for partition in range(4)]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    seen: dict[int, list[int]] = {partition: [] for partition in range(4)}
    while sum(map(len, seen.values())) < 400:
        message = next(consumer)
        seen[message.partition].append(message.offset)
    assert seen == {partition: list(range(100)) for partition in range(4)}
    consumer.close()


def test_an_acknowledged_record_can_be_read_at_once(make_topic: MakeTopic, bootstrap: str) -> None:
    """A reader never sees a lower end than the offset of a record that was acknowledged before."""
    topic = make_topic()
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    consumer = librdkafka_consumer(bootstrap)
    for number in range(1, 50):
        acknowledged: list[int | None] = []
        producer.produce(topic, b"v", partition=0, on_delivery=lambda _, message: acknowledged.append(message.offset()))  # noqa: B023
        producer.flush(PATIENCE_SECONDS)
        assert acknowledged == [number - 1]
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_SECONDS) == (0, number)
    consumer.close()
