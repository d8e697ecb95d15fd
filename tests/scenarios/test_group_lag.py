"""The lag of groups on the page of metrics, of groups of a client that we did not write."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from barnabas.node import group_lag
from barnabas.testing import EmbeddedBroker
from peers.ports import free_port
from tests.scenarios.client import Client
from tests.waiting import PATIENCE_SECONDS, until

HOUR_MS = 3_600_000


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def kafka(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedBroker]:
    monkeypatch.setattr(group_lag, "INTERVAL_SECONDS", 0.05)
    with EmbeddedBroker(config={"barnabas.prometheus.listener": f"127.0.0.1:{port}"}) as kafka:
        yield kafka


def read_lags(port: int, name: str) -> dict[tuple[str, str], float]:
    """By group and partition."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {
            (each.labels["group"], each.labels["partition"]): each.value
            for family in families
            for each in family.samples
            if each.name == name
        }


def produce(kafka: EmbeddedBroker, partition: int, *ages_ms: int, **settings: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0, **settings})
    now_ms = int(time.time() * 1000)
    if "transactional.id" in settings:
        producer.init_transactions()
        producer.begin_transaction()
    for age_ms in ages_ms:
        producer.produce("t", b"x", partition=partition, timestamp=now_ms - age_ms)
    assert producer.flush(PATIENCE_SECONDS) == 0
    if "transactional.id" in settings:
        producer.commit_transaction()


def commit(kafka: EmbeddedBroker, group: str, **offsets: int) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    committed = [TopicPartition("t", int(name[1:]), offset) for name, offset in offsets.items()]
    consumer.commit(offsets=committed, asynchronous=False)
    consumer.close()


def test_lag_is_shown_in_records_and_in_seconds(kafka: EmbeddedBroker, port: int) -> None:
    with Client(kafka.bootstrap) as client:
        client.create_topic("t", 3)
    produce(kafka, 0, 5 * HOUR_MS, 2 * HOUR_MS, HOUR_MS)
    produce(kafka, 1, HOUR_MS)
    commit(kafka, "g", p0=1, p1=1, p2=0)
    expected = {("g", "0"): 2.0, ("g", "1"): 0.0, ("g", "2"): 0.0}
    until(lambda: read_lags(port, "barnabas_group_lag_records") == expected, "the lag is measured")
    seconds = read_lags(port, "barnabas_group_lag_seconds")
    assert seconds["g", "0"] == pytest.approx(7200, abs=PATIENCE_SECONDS)
    assert seconds["g", "1"] == seconds["g", "2"] == 0
    commit(kafka, "g", p0=3)
    until(lambda: read_lags(port, "barnabas_group_lag_seconds")["g", "0"] == 0, "the group has caught up")


def test_lag_inside_a_compressed_batch_is_that_of_the_record(kafka: EmbeddedBroker, port: int) -> None:
    with Client(kafka.bootstrap) as client:
        client.create_topic("t", 1)
    produce(kafka, 0, 9 * HOUR_MS, 3 * HOUR_MS, HOUR_MS, **{"linger.ms": "200", "compression.type": "zstd"})
    commit(kafka, "middle", p0=1)
    commit(kafka, "start", p0=0)
    until(lambda: len(read_lags(port, "barnabas_group_lag_seconds")) == 2, "the lags are measured")
    seconds = read_lags(port, "barnabas_group_lag_seconds")
    assert seconds["start", "0"] == pytest.approx(9 * 3600, abs=PATIENCE_SECONDS)
    assert seconds["middle", "0"] == pytest.approx(3 * 3600, abs=PATIENCE_SECONDS)


def test_a_marker_of_a_transaction_is_no_record_that_waits(kafka: EmbeddedBroker, port: int) -> None:
    with Client(kafka.bootstrap) as client:
        client.create_topic("t", 1)
    produce(kafka, 0, HOUR_MS, **{"transactional.id": "x"})
    commit(kafka, "g", p0=1)
    until(lambda: read_lags(port, "barnabas_group_lag_records") == {("g", "0"): 1.0}, "the lag is measured")
    assert read_lags(port, "barnabas_group_lag_seconds") == {("g", "0"): 0.0}
    produce(kafka, 0, 2 * HOUR_MS)
    until(lambda: read_lags(port, "barnabas_group_lag_seconds")["g", "0"] > 7000, "the new record is seen")


def test_more_partitions_than_the_limit_are_counted_and_not_shown(
    kafka: EmbeddedBroker, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_lag, "SERIES_MAX", 2)
    with Client(kafka.bootstrap) as client:
        client.create_topic("t", 5)
    commit(kafka, "g", p0=0, p1=0)
    commit(kafka, "h", p0=0, p1=0, p2=0)

    def unknown() -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS) as answer:
            families = {each.name: each for each in text_string_to_metric_families(answer.read().decode())}
        return families["barnabas_group_lag_unknown_partitions"].samples[0].value

    until(lambda: unknown() == 3, "the rest is counted")
    assert len(read_lags(port, "barnabas_group_lag_records")) == 2
