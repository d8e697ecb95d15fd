"""librdkafka, aiokafka and kafka-python see exactly the errors that a test asks for, and recover
from those that pass."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError, TopicAuthorizationFailedError as AioTopicDenied
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.testing import EmbeddedBroker
from tests.waiting import PATIENCE_SECONDS, until

NO_BACKOFF = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 5, "log_level": 0}


def send(kafka: EmbeddedBroker, **options: Any) -> KafkaError | None:
    """The error of a librdkafka producer for one record."""
    outcome: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **NO_BACKOFF, **options})
    producer.produce("t", b"v", on_delivery=lambda error, _: outcome.append(error))
    assert producer.flush(PATIENCE_SECONDS) == 0
    return outcome[0]


# -- librdkafka


def test_librdkafka_retries_a_produce_as_often_as_the_fault_says(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    with kafka.fail("Produce", "NOT_ENOUGH_REPLICAS", times=3) as fault:
        assert send(kafka) is None
        assert fault.used == 3
    assert len(kafka.consume("t")) == 1


def test_librdkafka_reports_the_error_when_its_retries_are_used_up(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    with kafka.fail("Produce", "NOT_ENOUGH_REPLICAS", times=None) as fault:
        error = send(kafka, retries=2)
        assert error is not None
        assert error.code() == KafkaError.NOT_ENOUGH_REPLICAS
        assert fault.used == 3
    assert kafka.consume("t") == []


def test_librdkafka_reports_an_error_that_does_not_pass_at_once(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    fault = kafka.fail("Produce", "TOPIC_AUTHORIZATION_FAILED")
    error = send(kafka)
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert fault.used == 1
    assert send(kafka) is None


def test_librdkafka_creates_a_topic_after_the_error_of_the_admin_request(kafka: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    kafka.fail("CreateTopics", "POLICY_VIOLATION")
    with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
        admin.create_topics([NewTopic("t", 1)])["t"].result(PATIENCE_SECONDS)
    assert kafka.topics() == []
    admin.create_topics([NewTopic("t", 1)])["t"].result(PATIENCE_SECONDS)
    assert kafka.topics() == ["t"]


def test_librdkafka_waits_for_a_leader_while_metadata_says_there_is_none(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    with kafka.fail("Metadata", "LEADER_NOT_AVAILABLE", times=2) as fault:
        assert send(kafka, **{"topic.metadata.refresh.fast.interval.ms": 10}) is None
        assert fault.used == 2


@pytest.mark.parametrize(
    ("protocol", "api", "error"),
    [
        ("classic", "FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("classic", "JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("classic", "SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("classic", "OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("classic", "ListOffsets", "LEADER_NOT_AVAILABLE"),
        ("classic", "Fetch", "NOT_LEADER_OR_FOLLOWER"),
        ("consumer", "ConsumerGroupHeartbeat", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("consumer", "OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_a_librdkafka_consumer_gets_its_record_after_the_error(kafka: EmbeddedBroker, protocol: str, api: str, error: str) -> None:
    kafka.produce("t", b"v")
    with kafka.fail(api, error) as fault:
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": "g",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                **NO_BACKOFF,
            }
        )
        try:
            consumer.subscribe(["t"])
            record = until(lambda: consumer.poll(0.1), "the record arrives")
            assert record.value() == b"v"
            assert fault.used == 1
        finally:
            consumer.close()


def test_a_commit_of_librdkafka_fails_with_the_error(kafka: EmbeddedBroker) -> None:
    kafka.produce("t", b"v")
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    try:
        consumer.subscribe(["t"])
        until(lambda: consumer.poll(0.1), "the record arrives")
        kafka.fail("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")
        with pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"):
            consumer.commit(asynchronous=False)
        assert kafka.group_offsets("g", "t") == {}
        consumer.commit(asynchronous=False)
        assert kafka.group_offsets("g", "t") == {0: 1}
        assert kafka.await_committed("g", "t") == {0: 1}
        kafka.await_group("g", members=1)
    finally:
        consumer.close()
    kafka.await_group("g", members=0)


def test_a_transaction_of_librdkafka_survives_errors_that_pass(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    faults = [
        kafka.fail("InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS"),
        kafka.fail("AddPartitionsToTxn", "CONCURRENT_TRANSACTIONS"),
        kafka.fail("EndTxn", "COORDINATOR_NOT_AVAILABLE"),
    ]
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "x", **NO_BACKOFF})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce("t", b"v")
    producer.commit_transaction(PATIENCE_SECONDS)
    assert [each.value for each in kafka.consume("t")] == [b"v"]
    assert [fault.used for fault in faults] == [1, 1, 1]


def test_a_fenced_producer_of_librdkafka_gets_a_fatal_error(kafka: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "x", **NO_BACKOFF})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce("t", b"v")
    kafka.fail("EndTxn", "PRODUCER_FENCED")
    with pytest.raises(KafkaException) as raised:
        producer.commit_transaction(PATIENCE_SECONDS)
    assert raised.value.args[0].fatal()


def test_an_idempotent_producer_repeats_a_request_whose_answer_was_lost_and_writes_once(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    with kafka.disconnect("Produce", handled=True) as fault:
        assert send(kafka, **{"enable.idempotence": True, "reconnect.backoff.ms": 1}) is None
        assert fault.used == 1
    assert len(kafka.consume("t")) == 1


# -- aiokafka


def test_aiokafka_sees_errors_and_retries(kafka: EmbeddedBroker) -> None:
    async def scenario() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, retry_backoff_ms=1)
        await producer.start()
        try:
            with kafka.fail("Produce", "NOT_ENOUGH_REPLICAS", times=2) as fault:
                await producer.send_and_wait("t", b"v")
                assert fault.used == 2
            with kafka.fail("Produce", "MESSAGE_TOO_LARGE"), pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait("t", b"v")
            with kafka.fail("Produce", "TOPIC_AUTHORIZATION_FAILED"), pytest.raises(AioTopicDenied):
                await producer.send_and_wait("t", b"v")
        finally:
            await producer.stop()

        faults = [
            kafka.fail("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
            kafka.fail("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
            kafka.fail("Fetch", "NOT_LEADER_OR_FOLLOWER"),
        ]
        consumer = AIOKafkaConsumer(
            "t", bootstrap_servers=kafka.bootstrap, group_id="g", auto_offset_reset="earliest", retry_backoff_ms=1, metadata_max_age_ms=100
        )
        await consumer.start()
        try:
            record = await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)
            assert record.value == b"v"
            assert [fault.used for fault in faults] == [1, 1, 1]
        finally:
            await consumer.stop()

    kafka.create_topic("t")
    asyncio.run(scenario())


# -- kafka-python


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:unclosed <socket:ResourceWarning")
def test_kafka_python_sees_errors_and_retries(kafka: EmbeddedBroker) -> None:
    # kafka-python warns when it is imported.
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.errors import KafkaError as PythonKafkaError, TopicAuthorizationFailedError

    kafka.create_topic("t")
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, retry_backoff_ms=1)
    try:
        with kafka.fail("Produce", "NOT_ENOUGH_REPLICAS", times=2) as fault:
            assert producer.send("t", b"v").get(PATIENCE_SECONDS).offset == 0
            assert fault.used == 2
        with kafka.fail("Produce", "TOPIC_AUTHORIZATION_FAILED"), pytest.raises(TopicAuthorizationFailedError):
            producer.send("t", b"v").get(PATIENCE_SECONDS)
    finally:
        producer.close()

    faults = [
        kafka.fail("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        kafka.fail("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        kafka.fail("Fetch", "NOT_LEADER_OR_FOLLOWER"),
    ]
    consumer = KafkaConsumer("t", bootstrap_servers=kafka.bootstrap, group_id="g", auto_offset_reset="earliest", retry_backoff_ms=1)
    try:
        records = until(lambda: consumer.poll(100), "the record arrives", retry_on=PythonKafkaError)
        assert [each.value for batch in records.values() for each in batch] == [b"v"]
        assert [fault.used for fault in faults] == [1, 1, 1]
        # The consumer has a fetch session by now, and its requests name no partitions.
        with kafka.fail("Fetch", "NOT_LEADER_OR_FOLLOWER") as fault:
            kafka.produce("t", b"w")
            records = until(lambda: consumer.poll(100), "the next record arrives")
            assert [each.value for batch in records.values() for each in batch] == [b"w"]
            assert fault.used == 1
    finally:
        consumer.close()
