"""Real groups for the tests of the console, made by librdkafka, and records for them to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.waiting import until


def produce(bootstrap: str, topic: str, count: int, *, partitions: int = 3, timestamp_ms: int = 0) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, f"value-{number}", partition=number % partitions, timestamp=timestamp_ms)
    assert producer.flush(60) == 0


@contextmanager
def member(bootstrap: str, group: str, topic: str, **settings: str) -> Iterator[Consumer]:
    """A consumer that has its partitions, and that keeps its membership while the test looks."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "member-of-test",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )
    try:
        consumer.subscribe([topic])
        until(lambda: (consumer.poll(0.1), consumer.assignment())[1], "the member has partitions")
        yield consumer
    finally:
        consumer.close()


def commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """Commits without being a member, which makes a group that is empty."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        # The coordinator of the first group of a cluster is loading for a moment.
        until(lambda: consumer.commit(offsets=places, asynchronous=False), "the offsets are committed", retry_on=KafkaException)
    finally:
        consumer.close()
