"""Several brokers in one test: quick to start, stopped and killed one by one, gone afterwards."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.testing import EmbeddedBroker, EmbeddedCluster
from tests.waiting import PATIENCE_SECONDS, until


def test_a_cluster_has_three_brokers_and_replicates_to_all(kafka_cluster: EmbeddedCluster) -> None:
    assert kafka_cluster.brokers == (1, 2, 3)
    assert len(kafka_cluster.bootstrap.split(",")) == 3
    consumer = Consumer({"bootstrap.servers": kafka_cluster.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap, "acks": "all"})
    producer.produce("t", b"v")
    assert producer.flush(PATIENCE_SECONDS) == 0
    try:
        (partition,) = consumer.list_topics("t", timeout=PATIENCE_SECONDS).topics["t"].partitions.values()
        assert sorted(partition.replicas) == [1, 2, 3]
        consumer.subscribe(["t"])
        assert until(lambda: consumer.poll(0.1), "the record arrives").value() == b"v"
    finally:
        consumer.close()


def test_both_spellings_make_a_cluster() -> None:
    with EmbeddedBroker(brokers=2) as broker, EmbeddedCluster(brokers=2) as cluster:
        for each in (broker, cluster):
            assert each.brokers == (1, 2)
            each.produce("t", b"v")
            assert len(each.consume("t")) == 1


def test_each_broker_stops_and_starts_again_with_its_port_and_data(kafka_cluster: EmbeddedCluster) -> None:
    topic = kafka_cluster.create_topic(partitions=3)
    kafka_cluster.produce(topic, [b"a", b"b", b"c"])
    before = kafka_cluster.bootstrap
    for broker in kafka_cluster.brokers:
        kafka_cluster.stop(broker)
        assert broker not in kafka_cluster.running
        assert len(kafka_cluster.await_records(topic, 3)) == 3
        kafka_cluster.start(broker)
    assert kafka_cluster.bootstrap == before
    kafka_cluster.stop()
    assert kafka_cluster.running == []
    kafka_cluster.start()
    assert len(kafka_cluster.await_records(topic, 3)) == 3


def test_a_killed_process_loses_nothing_that_was_acknowledged() -> None:
    with EmbeddedCluster(brokers=2, process=True) as kafka:
        topic = kafka.create_topic(config={"min.insync.replicas": 1})
        kafka.produce(topic, b"a")
        assert kafka.pid != os.getpid()
        kafka.kill(1)
        assert kafka.running == [2]
        kafka.produce(topic, b"b")
        kafka.start(1)
        kafka.produce(topic, b"c")
        assert [each.value for each in kafka.consume(topic)] == [b"a", b"b", b"c"]


def test_a_cluster_leaves_no_thread_no_descriptor_and_no_data() -> None:
    with EmbeddedCluster() as first:
        pass
    assert not os.path.exists(first.data_dir)
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        with EmbeddedCluster() as kafka:
            kafka.produce("t", b"v")
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= files + 2


def test_a_given_directory_keeps_the_data_of_all_brokers(tmp_path: Path) -> None:
    for count in (1, 2):
        with EmbeddedCluster(data_dir=tmp_path) as kafka:
            kafka.produce("t", b"v")
            assert len(kafka.consume("t")) == count


def test_settings_are_numbers_and_booleans_and_hold_for_all_brokers() -> None:
    with EmbeddedCluster(brokers=2, config={"num.partitions": 4, "auto.create.topics.enable": False}) as kafka:
        assert len(kafka.end_offsets(kafka.create_topic())) == 4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"brokers": 0}, "1 to 32 brokers, not 0"), ({"config": {"node.id": 4}}, r"node\.id cannot be the same for 3 brokers")],
)
def test_settings_that_make_no_cluster_get_a_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        EmbeddedCluster(**options)  # type: ignore[arg-type]
