"""The broker for tests: fresh, quick, on a free port, removed afterwards, and killable where it is
a process.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.model.cannot_start import CannotStart
from barnabas.model.ids import ZERO_UUID
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.scenarios.client import Client
from tests.waiting import PATIENCE_SECONDS, until


def test_a_real_client_produces_and_consumes_within_seconds(kafka: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(100):
        producer.produce("t", b"%d" % number)
    assert producer.flush(PATIENCE_SECONDS) == 0
    with Client(kafka.bootstrap) as client:
        assert client.values("t") == [b"%d" % number for number in range(100)]


def test_the_fixture_gives_a_fresh_broker(kafka: EmbeddedBroker) -> None:
    with Client(kafka.bootstrap) as client:
        client.create_topic("t")


def test_the_fixture_gives_a_fresh_broker_again(kafka: EmbeddedBroker) -> None:
    with Client(kafka.bootstrap) as client:
        client.create_topic("t")


def test_its_data_is_removed_afterwards_unless_the_caller_named_the_directory(tmp_path: Path) -> None:
    with EmbeddedBroker() as own, EmbeddedBroker(data_dir=tmp_path) as given:
        assert os.path.isdir(own.data_dir)
        assert own.data_dir != given.data_dir
    assert not os.path.exists(own.data_dir)
    assert (tmp_path / "meta.properties").exists()


def test_many_brokers_run_at_once_in_one_process() -> None:
    brokers = [EmbeddedBroker().start() for _ in range(5)]
    try:
        for number, each in enumerate(brokers):
            with Client(each.bootstrap) as client:
                client.create_topic(f"t{number}")
        assert len({each.bootstrap for each in brokers}) == 5
    finally:
        for each in brokers:
            each.close()


def test_a_stopped_broker_starts_again_on_the_same_port_with_the_same_data(kafka: EmbeddedBroker) -> None:
    bootstrap = kafka.bootstrap
    with Client(kafka.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"x"])
    kafka.stop()
    kafka.stop()
    kafka.start()
    assert kafka.bootstrap == bootstrap
    with Client(kafka.bootstrap) as client:
        assert client.values("t") == [b"x"]


def test_a_broker_starts_and_stops_in_a_moment() -> None:
    # CPU time, which does not depend on the load of the machine.
    worked = time.process_time()
    for _ in range(3):
        with EmbeddedBroker():
            pass
    assert time.process_time() - worked < 6


def test_a_stopped_broker_leaves_no_thread_and_no_descriptor() -> None:
    with EmbeddedBroker():
        pass
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with EmbeddedBroker() as kafka, Client(kafka.bootstrap) as client:
            client.create_topic("t", 5)
            client.produce("t", [b"x"])
            client.fetch("t")
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= files + 2


def test_only_a_process_can_be_killed(kafka: EmbeddedBroker) -> None:
    with pytest.raises(TypeError, match="process=True"):
        kafka.kill()
    with Client(kafka.bootstrap) as client:
        client.probe()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is kept")
def test_the_port_of_a_stopped_broker_stays_reserved() -> None:
    with EmbeddedBroker(process=True) as kafka:
        before = kafka.bootstrap
        kafka.kill()
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", int(before.rpartition(":")[2])))
        kafka.start()
        assert kafka.bootstrap == before


def test_a_failed_start_gives_its_reason_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"num\.partitions"):
        EmbeddedBroker(config={"num.partitions": "none"}).start()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for process in (False, True):
            with pytest.raises(CannotStart, match="Address already in use"):
                EmbeddedBroker(process=process, port=taken.getsockname()[1], data_dir=tmp_path / str(process)).start()


def test_a_start_that_failed_leaves_no_data_and_can_be_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        broker = EmbeddedBroker(port=port)
        with pytest.raises(CannotStart), broker:
            pass
        assert not os.path.exists(broker.data_dir)
    with EmbeddedBroker(port=port) as kafka, Client(kafka.bootstrap) as client:
        client.probe()


def test_settings_have_kafkas_names() -> None:
    with EmbeddedBroker(config={"num.partitions": "4"}) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        producer.produce("t", b"x")
        assert producer.flush(PATIENCE_SECONDS) == 0
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
        assert len(consumer.list_topics("t", timeout=PATIENCE_SECONDS).topics["t"].partitions) == 4
        consumer.close()


def test_the_complaints_of_a_process_can_be_read() -> None:
    """The test moves the directory of a topic away, and deleting the topic finds that out; without
    another directory the node halts."""
    with EmbeddedBroker(process=True) as kafka:
        assert kafka.complaints == ""
        with Client(kafka.bootstrap) as client:
            client.create_topic("t")
            os.rename(f"{kafka.data_dir}/t-0", f"{kafka.data_dir}/elsewhere")
            client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=ZERO_UUID)], timeout_ms=0))
            until(lambda: "node halts" in kafka.complaints, "the failure is written")
        assert "log directory failed" in kafka.complaints
