"""Commits of groups: every style of every client, and the committed positions."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition as AioKafkaPartition
from aiokafka.structs import OffsetAndMetadata as AioKafkaOffset
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition as KafkaPythonPartition
from kafka.errors import OffsetMetadataTooLargeError

from tests.conformance.clients.three_clients import run
from tests.conformance.groups.at_once import for_each_of
from tests.conformance.groups.conftest import Join, MakeTopic, fill, numbered
from tests.conformance.groups.members import (
    ALL_MEMBERS,
    CLASSIC_MEMBERS,
    QUIET,
    LibrdkafkaMember,
    Member,
    NewProtocolMember,
    share_out,
)
from tests.waiting import PATIENCE_SECONDS, until

PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def consumer_of(bootstrap: str, group: str, **config: Any) -> Consumer:
    """Underscores stand for dots; the consumer commits nothing by itself."""
    settings = {name if callable(value) else name.replace("_", "."): value for name, value in config.items()}
    return Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **settings,
        }
    )


def take(consumer: Consumer, count: int) -> list[bytes | None]:
    taken = consumer.consume(count, PATIENCE_SECONDS)
    assert [message.error() for message in taken] == [None] * count
    return [message.value() for message in taken]


def committed(bootstrap: str, group: str, topic: str, partition: int = 0) -> tuple[int, str | None]:
    """The committed offset and metadata, as a client outside the group sees them."""
    reader = consumer_of(bootstrap, group)
    try:
        (found,) = reader.committed([TopicPartition(topic, partition)], PATIENCE_SECONDS)
        return found.offset, found.metadata
    finally:
        reader.close()


# -- librdkafka -------------------------------------------------------------------------------


@PROTOCOLS
def test_librdkafka_commits_in_every_style(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 100))
    called = threading.Event()
    told: list[tuple[KafkaError | None, int]] = []

    def on_commit(error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        told.append((error, partitions[0].offset))
        called.set()

    consumer = consumer_of(bootstrap, group, group_protocol=protocol, on_commit=on_commit)
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE_SECONDS)
    assert message is not None
    # A synchronous commit of all delivered records.
    (done,) = consumer.commit(asynchronous=False) or []
    assert (done.offset, done.error) == (1, None)
    assert committed(bootstrap, group, topic) == (1, None)
    # The offset of one message.
    take(consumer, 4)
    consumer.commit(message=message, asynchronous=False)
    assert committed(bootstrap, group, topic) == (1, None)
    # Explicit offsets, with metadata; also backwards.
    for offset, note in ((7, "a note"), (3, "nöte"), (3, "again")):
        consumer.commit(offsets=[TopicPartition(topic, 0, offset, metadata=note)], asynchronous=False)
        assert committed(bootstrap, group, topic) == (offset, note)
    # An asynchronous commit, whose callback reports the result.
    told.clear()
    called.clear()
    consumer.commit(offsets=[TopicPartition(topic, 0, 42)], asynchronous=True)
    until(lambda: consumer.poll(0) is None and called.is_set(), "the callback is called", seen=lambda: told)
    assert told == [(None, 42)]
    assert committed(bootstrap, group, topic) == (42, None)
    consumer.close()
    # The next member begins at the committed offset.
    successor = consumer_of(bootstrap, group, group_protocol=protocol)
    successor.subscribe([topic])
    assert take(successor, 3) == [b"42", b"43", b"44"]
    successor.close()


def test_only_stored_offsets_are_committed(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 10))
    consumer = consumer_of(bootstrap, group, enable_auto_commit=True, enable_auto_offset_store=False, auto_commit_interval_ms=50)
    consumer.subscribe([topic])
    messages = consumer.consume(10, PATIENCE_SECONDS)
    consumer.store_offsets(message=messages[4])
    until(lambda: committed(bootstrap, group, topic)[0] == 5, "offset 5 is committed")
    consumer.close()
    assert committed(bootstrap, group, topic)[0] == 5


def test_each_partition_has_its_own_offset(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic, other = make_topic(5), make_topic(1)
    consumer = consumer_of(bootstrap, group)
    consumer.assign([TopicPartition(topic, partition) for partition in range(5)])
    consumer.commit(offsets=[TopicPartition(topic, partition, 10 * partition) for partition in range(4)], asynchronous=False)
    consumer.commit(offsets=[TopicPartition(topic, 1, 99), TopicPartition(other, 0, 5)], asynchronous=False)
    asked = [*(TopicPartition(topic, partition) for partition in range(5)), TopicPartition(other, 0)]
    assert [each.offset for each in consumer.committed(asked, PATIENCE_SECONDS)] == [0, 99, 20, 30, OFFSET_INVALID, 5]
    consumer.close()


def test_commit_metadata_above_the_limit_is_refused(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    """The test uses kafka-python, because confluent-kafka appends a zero byte to the metadata."""
    partition = KafkaPythonPartition(make_topic(1), 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group)
    consumer.assign([partition])
    consumer.commit({partition: OffsetAndMetadata(1, "x" * 4096, -1)})
    with pytest.raises(OffsetMetadataTooLargeError):
        consumer.commit({partition: OffsetAndMetadata(2, "x" * 4097, -1)})
    assert consumer.committed(partition, metadata=True) == OffsetAndMetadata(1, "x" * 4096, -1)
    consumer.close(autocommit=False)


def test_a_commit_for_a_missing_topic_is_refused(bootstrap: str, group: str) -> None:
    consumer = consumer_of(bootstrap, group)
    with pytest.raises(KafkaException) as refused:
        consumer.commit(offsets=[TopicPartition("no-such-topic", 0, 1)], asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    consumer.close()


@for_each_of([LibrdkafkaMember, NewProtocolMember])
def test_a_commit_of_a_stranger_is_refused_by_a_group_with_members(
    kind: type[Member], join: Join, make_topic: MakeTopic, bootstrap: str, group: str
) -> None:
    topic = make_topic(1)
    share_out([join(kind, group, [topic])], 1)
    stranger = consumer_of(bootstrap, group)
    with pytest.raises(KafkaException) as refused:
        stranger.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    stranger.close()


@for_each_of(ALL_MEMBERS)
def test_auto_commit_commits_read_records(kind: type[Member], join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(2)
    interval = {"auto.commit.interval.ms": 50} if issubclass(kind, LibrdkafkaMember) else {"auto_commit_interval_ms": 50}
    member = join(kind, group, [topic], settings=interval)
    share_out([member], 2)
    fill(bootstrap, topic, numbered(0, 10), 0)
    until(lambda: committed(bootstrap, group, topic)[0] == 10, "offset 10 is committed")
    fill(bootstrap, topic, numbered(0, 5), 1)
    until(lambda: len(member.values) == 15, "fifteen records are read")
    member.leave()
    assert [committed(bootstrap, group, topic, partition)[0] for partition in range(2)] == [10, 5]
    fill(bootstrap, topic, [b"new"], 1)
    successor = join(kind, group, [topic])
    until(lambda: successor.values == [b"new"], "the successor reads the new record", seen=lambda: successor.received)


# -- kafka-python and aiokafka ----------------------------------------------------------------


def test_kafka_python_commits_in_every_style(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 20))
    partition = KafkaPythonPartition(topic, 0)

    def consumer() -> KafkaConsumer:
        return KafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", max_poll_records=5
        )

    first = consumer()
    while not (polled := first.poll(timeout_ms=1000)):
        pass
    assert [each.value for each in polled[partition]] == numbered(0, 5)
    first.commit()
    assert first.committed(partition) == 5
    first.commit({partition: OffsetAndMetadata(7, "a note", -1)})
    assert first.committed(partition, metadata=True) == OffsetAndMetadata(7, "a note", -1)
    ends: list[Any] = []
    first.commit_async({partition: OffsetAndMetadata(11, "", -1)}, callback=lambda offsets, answer: ends.append(answer))
    until(lambda: bool(first.poll(timeout_ms=10) is not None and ends), "the callback is called", seen=lambda: ends)
    assert not isinstance(ends[0], Exception)
    assert first.committed(partition) == 11
    first.close(autocommit=False)
    second = consumer()
    assert next(second).value == b"11"
    second.close(autocommit=False)


def test_aiokafka_commits_in_every_style(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 20))
    partition = AioKafkaPartition(topic, 0)

    def consumer() -> AIOKafkaConsumer:
        return AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest")

    async def claims() -> None:
        async with consumer() as first:
            for number in range(5):
                assert (await first.getone()).value == b"%d" % number
            await first.commit()
            assert await first.committed(partition) == 5
            await first.commit({partition: 9})
            assert await first.committed(partition) == 9
            await first.commit({partition: AioKafkaOffset(12, "a note")})
            assert await first.committed(partition) == 12
        async with consumer() as second:
            assert (await second.getone()).value == b"12"

    run(claims())
    assert committed(bootstrap, group, topic) == (12, "a note")


def test_a_client_continues_where_another_client_stopped(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    for number, kind in enumerate(CLASSIC_MEMBERS * 2):
        fill(bootstrap, topic, numbered(10 * number, 10 * number + 10))
        member = join(kind, group, [topic])
        until(lambda member=member: len(member.values) >= 10, "the member reads ten records", seen=lambda member=member: member.received)  # type: ignore[misc]
        member.leave()
        assert member.values == numbered(10 * number, 10 * number + 10)
