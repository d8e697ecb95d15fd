"""Real groups for the tests of the console, made by librdkafka, and records for them to read.

librdkafka has no streams groups: the heartbeats of their members are here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, TaskIds, Topology
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


def streams_topology(topic: str) -> Topology:
    only = Subtopology(
        subtopology_id="0",
        source_topics=[topic],
        source_topic_regex=[],
        state_changelog_topics=[],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
    return Topology(epoch=1, subtopologies=[only])


def streams_heartbeat(group: str, epoch: int, topology: Topology | None) -> StreamsGroupHeartbeatRequest:
    owned: list[TaskIds] | None = [] if topology is not None else None
    return StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id="streams-member-1",
        member_epoch=epoch,
        endpoint_information_epoch=0,
        rebalance_timeout_ms=10_000,
        topology=topology,
        active_tasks=owned,
        standby_tasks=owned,
        warmup_tasks=owned,
        process_id="process-1",
        client_tags=[],
    )


@contextmanager
def streams_member(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """A member of a streams group, which sends heartbeats while the test looks."""
    leaves = threading.Event()

    def send_heartbeats() -> None:
        with BrokerConnection(bootstrap, {}, seconds_max=60) as connection:
            epoch = 0
            while not leaves.wait(0.5):
                # The coordinator of the first group of a cluster is loading for a moment.
                topology = streams_topology(topic) if epoch == 0 else None
                epoch = connection.ask(streams_heartbeat(group, epoch, topology)).member_epoch

    thread = threading.Thread(target=send_heartbeats, daemon=True)
    thread.start()
    try:
        yield
    finally:
        leaves.set()
        thread.join(60)
