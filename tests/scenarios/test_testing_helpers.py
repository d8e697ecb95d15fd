"""Topics, records and groups in one call each, without a client library."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.testing import ConsumedRecord, EmbeddedBroker, KafkaRefused, Message
from tests.waiting import PATIENCE_SECONDS


def values(records: list[ConsumedRecord]) -> list[bytes | None]:
    return [each.value for each in records]


def test_topics_are_created_listed_and_deleted(kafka: EmbeddedBroker) -> None:
    assert kafka.create_topic("a", partitions=3, config={"retention.ms": 1000, "preallocate": True}) == "a"
    assert kafka.create_topics("b", "c") == ["b", "c"]
    assert kafka.topics() == ["a", "b", "c"]
    assert kafka.end_offsets("a") == {0: 0, 1: 0, 2: 0}
    kafka.delete_topic("b")
    assert kafka.topics() == ["a", "c"]


def test_topics_without_names_are_unique(kafka: EmbeddedBroker) -> None:
    assert len({kafka.create_topic(), kafka.create_topic(), kafka.unique_topic(), kafka.unique_topic("orders")}) == 4


def test_refusals_name_the_topic_and_the_error(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("a")
    with pytest.raises(KafkaRefused, match=r"Topic a cannot be created: TOPIC_ALREADY_EXISTS"):
        kafka.create_topic("a")
    with pytest.raises(KafkaRefused, match=r"Topic none cannot be found: UNKNOWN_TOPIC_OR_PARTITION"):
        kafka.consume("none")
    with pytest.raises(KafkaRefused, match=r"INVALID_REPLICATION_FACTOR"):
        kafka.create_topic("b", replication_factor=3)


def test_a_produced_record_has_its_key_headers_partition_and_timestamp(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t", partitions=2)
    (placed,) = kafka.produce("t", Message(key="k", value="v", headers={"h": "x"}, partition=1, timestamp=17))
    (record,) = kafka.consume("t")
    assert record == ConsumedRecord("t", 1, placed.offset, 17, b"k", b"v", (("h", b"x"),))


def test_keys_go_where_javas_producer_puts_them(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t", partitions=5)
    keys = [f"key-{number}" for number in range(20)]
    ours = kafka.produce("t", [(key, "v") for key in keys])
    theirs: dict[bytes | None, int | None] = {}
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce("t", b"v", key=key, on_delivery=lambda _, record: theirs.update({record.key(): record.partition()}))
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert [theirs[key.encode()] for key in keys] == [placed.partition for placed in ours]


def test_consume_waits_for_a_count_and_returns_that_many(kafka: EmbeddedBroker) -> None:
    later = threading.Timer(0.2, lambda: kafka.produce("t", [b"b", b"c"]))
    kafka.produce("t", b"a")
    later.start()
    assert values(kafka.consume("t", 3)) == [b"a", b"b", b"c"]
    assert values(kafka.consume("t", 2)) == [b"a", b"b"]
    later.join()


def test_await_records_waits_for_a_condition_and_for_the_topic(kafka: EmbeddedBroker) -> None:
    later = threading.Timer(0.2, lambda: kafka.produce("t", [b"a", b"b"]))
    later.start()
    records = kafka.await_records("t", lambda records: any(each.value == b"b" for each in records))
    assert values(records) == [b"a", b"b"]
    later.join()


def test_a_wait_that_is_too_long_says_how_far_it_came(kafka: EmbeddedBroker) -> None:
    kafka.produce("t", b"a")
    with pytest.raises(TimeoutError, match=r"Topic t did not have 2 records within 3 seconds, but 1; the last one is .*b'a'"):
        kafka.await_records("t", 2, timeout=3)
    with pytest.raises(TimeoutError, match="Group g is unknown with 0 members"):
        kafka.await_group("g", timeout=0.2)


def test_records_of_open_and_aborted_transactions_are_left_out(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "x"})
    producer.init_transactions(PATIENCE_SECONDS)
    for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush(PATIENCE_SECONDS)
        (producer.commit_transaction if commit else producer.abort_transaction)(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce("t", b"d")
    producer.flush(PATIENCE_SECONDS)
    assert values(kafka.consume("t")) == [b"a", b"c"]
    assert values(kafka.consume("t", committed=False)) == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_are_awaited(kafka: EmbeddedBroker, protocol: str) -> None:
    kafka.produce("t", [b"a", b"b"])
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "group.protocol": protocol, "auto.offset.reset": "earliest"}
        | {"enable.auto.commit": False}
    )
    try:
        consumer.subscribe(["t"])
        assert len(consumer.consume(2, PATIENCE_SECONDS)) == 2
        kafka.await_group("g", members=1)
        consumer.commit(asynchronous=False)
        assert kafka.await_committed("g", "t") == {0: 2}
    finally:
        consumer.close()
    kafka.await_group("g", members=0)
