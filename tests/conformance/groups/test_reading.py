"""Members read from any position of any topics, and each group reads all records."""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition as AioKafkaPartition
from aiokafka.errors import NoOffsetForPartitionError as AioKafkaNoOffset
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, TopicPartition as KafkaPythonPartition
from kafka.errors import NoOffsetForPartitionError

from tests.conformance.clients.three_clients import run
from tests.conformance.groups.at_once import for_each_of
from tests.conformance.groups.conftest import Join, MakeTopic, create, fill, numbered
from tests.conformance.groups.members import (
    ALL_MEMBERS,
    AioKafkaMember,
    KafkaPythonMember,
    LibrdkafkaMember,
    Member,
    NewProtocolMember,
    share_out,
)
from tests.conformance.groups.test_commits import PROTOCOLS, consumer_of, take
from tests.waiting import PATIENCE_SECONDS, until

EVERY_MEMBER = for_each_of(ALL_MEMBERS)


def assigned(consumer: Consumer) -> None:
    """Polls until the group has assigned something. No record must come with that."""

    def ready() -> bool:
        assert consumer.poll(0.05) is None
        return bool(consumer.assignment()) and all(each.offset >= 0 for each in consumer.position(consumer.assignment()))

    until(ready, "the group assigns partitions")


@EVERY_MEMBER
def test_two_groups_each_receive_everything(kind: type[Member], join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(2)
    teams = [[join(kind, f"{group}-{name}", [topic]) for _ in range(2)] for name in ("a", "b")]
    for team in teams:
        share_out(team, 2)
    for partition in range(2):
        fill(bootstrap, topic, numbered(partition * 50, partition * 50 + 50), partition)
    for team in teams:
        until(lambda team=team: sum(len(member.values) for member in team) >= 100, "a hundred records are read")  # type: ignore[misc]
        assert sorted(int(value) for member in team for value in member.values) == list(range(100))


@EVERY_MEMBER
def test_a_pattern_subscribes_to_present_and_future_topics(
    kind: type[Member], join: Join, admin: AdminClient, bootstrap: str, group: str
) -> None:
    prefix = f"matched-{group}"
    topics = [create(admin, f"{prefix}-{name}", 2) for name in ("a", "b")]
    create(admin, f"other-{group}", 2)
    refresh: dict[type[Member], dict[str, object]] = {
        LibrdkafkaMember: {"topic.metadata.refresh.interval.ms": 200},
        KafkaPythonMember: {"metadata_max_age_ms": 300},
        AioKafkaMember: {"metadata_max_age_ms": 300},
    }
    member = join(kind, group, f"^{prefix}-.*", settings=refresh.get(kind, {}))
    until(
        lambda: member.owned == {(topic, number) for topic in topics for number in range(2)},
        "the member owns every partition",
        seen=lambda: member.events,
    )
    topics.append(create(admin, f"{prefix}-later", 1))
    until(lambda: (topics[2], 0) in member.owned and len(member.owned) == 5, "the member owns the new topic", seen=lambda: member.events)
    for topic in topics:
        fill(bootstrap, topic, [topic.encode()])
    until(
        lambda: sorted(member.values) == [topic.encode() for topic in topics],
        "the records of all topics are read",
        seen=lambda: member.received,
    )


@EVERY_MEMBER
def test_new_partitions_are_assigned_to_members(
    kind: type[Member], join: Join, admin: AdminClient, make_topic: MakeTopic, group: str
) -> None:
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

    topic = make_topic(1)
    refresh: dict[type[Member], dict[str, object]] = {
        LibrdkafkaMember: {"topic.metadata.refresh.interval.ms": 200},
        NewProtocolMember: {"topic.metadata.refresh.interval.ms": 200},
        KafkaPythonMember: {"metadata_max_age_ms": 300},
        AioKafkaMember: {"metadata_max_age_ms": 300},
    }
    members = [join(kind, group, [topic], settings=refresh[kind]) for _ in range(2)]
    share_out(members, 1)
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(PATIENCE_SECONDS)
    share_out(members, 4)


# -- seek and replay --------------------------------------------------------------------------


@PROTOCOLS
def test_librdkafka_seeks_and_replays(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 20))
    consumer = consumer_of(bootstrap, group, group_protocol=protocol)
    consumer.subscribe([topic])
    assert take(consumer, 20) == numbered(0, 20)
    consumer.commit(asynchronous=False)
    consumer.seek(TopicPartition(topic, 0, 15))
    assert take(consumer, 5) == numbered(15, 20)
    consumer.seek(TopicPartition(topic, 0, OFFSET_BEGINNING))
    assert take(consumer, 20) == numbered(0, 20)
    consumer.close()
    # A seek commits nothing, and an assignment may name its first offset.
    again = consumer_of(bootstrap, group, group_protocol=protocol)

    def from_ten(asking: Consumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            partition.offset = 10
        (asking.incremental_assign if protocol == "consumer" else asking.assign)(partitions)

    again.subscribe([topic], on_assign=from_ten)
    assert take(again, 10) == numbered(10, 20)
    again.close()


def test_kafka_python_seeks_and_replays(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 20))
    partition = KafkaPythonPartition(topic, 0)
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest")
    assert [next(consumer).value for _ in range(20)] == numbered(0, 20)
    consumer.seek(partition, 15)
    assert next(consumer).value == b"15"
    consumer.seek_to_beginning(partition)
    assert next(consumer).value == b"0"
    consumer.close()


def test_aiokafka_seeks_and_replays(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 20))

    async def claims() -> None:
        partition = AioKafkaPartition(topic, 0)
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest") as consumer:
            assert [(await consumer.getone()).value for _ in range(20)] == numbered(0, 20)
            await consumer.commit()
            consumer.seek(partition, 15)
            assert (await consumer.getone()).value == b"15"
            await consumer.seek_to_beginning(partition)
            assert (await consumer.getone()).value == b"0"
            await consumer.seek_to_committed(partition)
            assert await consumer.position(partition) == 20

    run(claims())


# -- auto.offset.reset ------------------------------------------------------------------------


@PROTOCOLS
def test_librdkafka_without_an_offset_follows_its_reset_policy(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 5))
    earliest = consumer_of(bootstrap, f"{group}-earliest", group_protocol=protocol, auto_offset_reset="earliest")
    latest = consumer_of(bootstrap, f"{group}-latest", group_protocol=protocol, auto_offset_reset="latest")
    error = consumer_of(bootstrap, f"{group}-error", group_protocol=protocol, auto_offset_reset="error")
    for consumer in (earliest, latest, error):
        consumer.subscribe([topic])
    assert take(earliest, 5) == numbered(0, 5)
    message = error.poll(PATIENCE_SECONDS)
    assert message is not None
    refusal = message.error()
    assert refusal is not None
    assert refusal.code() == KafkaError._AUTO_OFFSET_RESET
    until(lambda: latest.poll(0.05) is None and bool(latest.assignment()), "the group assigns partitions")
    # The moment at which "latest" is resolved is not visible from outside, so the test writes
    # records until one arrives.
    sent = 5

    def arrived() -> bool:
        nonlocal sent
        fill(bootstrap, topic, [b"%d" % sent])
        sent += 1
        message = latest.poll(0.2)
        if message is None:
            return False
        assert message.error() is None
        assert int(message.value() or b"") >= 5
        return True

    until(arrived, "a record arrives")
    for consumer in (earliest, latest, error):
        consumer.close()


def test_kafka_python_without_an_offset_follows_its_reset_policy(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 5))

    def consumer(reset: str) -> KafkaConsumer:
        return KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=f"{group}-{reset}", auto_offset_reset=reset)

    earliest, latest, none = consumer("earliest"), consumer("latest"), consumer("none")
    assert [next(earliest).value for _ in range(5)] == numbered(0, 5)
    until(lambda: latest.poll(timeout_ms=500) == {} and bool(latest.assignment()), "the group assigns partitions")
    assert latest.position(KafkaPythonPartition(topic, 0)) == 5
    fill(bootstrap, topic, [b"new"])
    assert next(latest).value == b"new"
    with pytest.raises(NoOffsetForPartitionError):
        until(lambda: none.poll(timeout_ms=500) != {}, "the consumer without a policy fails")
    for each in (earliest, latest, none):
        each.close(autocommit=False)


def test_aiokafka_without_an_offset_follows_its_reset_policy(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 5))

    def consumer(reset: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=f"{group}-{reset}", auto_offset_reset=reset)

    async def claims() -> None:
        async with consumer("earliest") as earliest:
            assert [(await earliest.getone()).value for _ in range(5)] == numbered(0, 5)
        async with consumer("latest") as latest:
            assert await latest.position(AioKafkaPartition(topic, 0)) == 5
            fill(bootstrap, topic, [b"new"])
            assert (await latest.getone()).value == b"new"
        async with consumer("none") as none:
            with pytest.raises(AioKafkaNoOffset):
                await none.getone()

    run(claims())


@PROTOCOLS
def test_an_offset_committed_beyond_the_log_is_reset(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 5))
    early = consumer_of(bootstrap, group)
    early.commit(offsets=[TopicPartition(topic, 0, 1000)], asynchronous=False)
    early.close()
    consumer = consumer_of(bootstrap, group, group_protocol=protocol, auto_offset_reset="earliest")
    consumer.subscribe([topic])
    assert take(consumer, 5) == numbered(0, 5)
    consumer.close()
