"""A topic many times larger than its local part."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from peers.apache_kafka import free_port
from tests.scenarios.client import FETCH_BY_NAME, Client, fetch_request
from tests.scenarios.tiered.tiered_broker import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST_TIERED,
    RECORDS_PER_SEGMENT,
    SEGMENT_BYTES,
    TIERED,
    fill,
    local_logs,
    remote_logs,
    tiered_broker,
    value_of,
    wait_until_settled,
    wait_until_tiered,
)
from tests.waiting import PATIENCE_SECONDS, until

SEGMENTS = 8
YESTERDAY_MS = int(time.time() * 1000) - 86_400_000
TOPIC_RESOURCE = 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def metrics_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def broker(store: Path, metrics_port: int) -> Iterator[EmbeddedBroker]:
    with tiered_broker(store, barnabas_prometheus_listener=f"127.0.0.1:{metrics_port}") as kafka:
        yield kafka


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[Client]:
    with Client(broker.bootstrap) as made:
        yield made


@pytest.fixture(scope="module")
def topic(broker: EmbeddedBroker) -> str:
    """A topic of which most is only remote."""
    with Client(broker.bootstrap) as client:
        client.create_topic("large", 1, TIERED)
        fill(client, "large", SEGMENTS, timestamp=YESTERDAY_MS)
        wait_until_settled(client, "large", SEGMENTS)
    return "large"


def consume(broker: EmbeddedBroker, topic: str, count: int, **config: str) -> list[tuple[int, bytes]]:
    """Consumes with librdkafka from the beginning."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "error", **config})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[int, bytes]] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), timeout=PATIENCE_SECONDS)
        assert messages, f"{len(found)} of {count} came"
        for message in messages:
            assert message.error() is None, message.error()
            value = message.value()
            assert value is not None
            found.append((message.offset(), value))  # type: ignore[arg-type]
    consumer.close()
    return found


def test_librdkafka_reads_the_topic_from_the_beginning(broker: EmbeddedBroker, topic: str) -> None:
    total = SEGMENTS * RECORDS_PER_SEGMENT
    assert len(local_logs(broker, topic)) <= 3
    found = consume(broker, topic, total)
    assert found == [(number, value_of(number)) for number in range(total)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_reads_the_topic_from_the_beginning(broker: EmbeddedBroker, topic: str) -> None:
    # kafka-python warns at import.
    from kafka import KafkaConsumer, TopicPartition as KafkaPartition

    partition = KafkaPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="none", consumer_timeout_ms=30_000)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    total = SEGMENTS * RECORDS_PER_SEGMENT
    for number, record in enumerate(consumer):
        assert (record.offset, record.value) == (number, value_of(number))
        if number == total - 1:
            break
    consumer.close()


def test_copied_and_fetched_bytes_are_counted(topic: str, metrics_port: int) -> None:
    with urlopen(f"http://127.0.0.1:{metrics_port}/metrics") as answer:
        lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if f'topic="{topic}"' in line)
    counted = {name.partition("{")[0]: float(value) for name, value in lines.items() if "remote" in name}
    for name in ("copy_bytes_total", "copy_requests_total", "fetch_bytes_total", "fetch_requests_total"):
        assert counted[f"barnabas_remote_{name}"] > 0
    assert counted["barnabas_remote_log_bytes"] == counted["barnabas_remote_copy_bytes_total"]
    assert "barnabas_remote_copy_errors_total" not in counted


def test_list_offsets_covers_the_whole_log_the_local_part_and_the_remote_part(broker: EmbeddedBroker, client: Client, topic: str) -> None:
    local, tiered = (client.end_offset(topic, timestamp=each) for each in (EARLIEST_LOCAL, LATEST_TIERED))
    assert client.end_offset(topic, timestamp=EARLIEST) == 0
    assert 0 < local <= tiered < SEGMENTS * RECORDS_PER_SEGMENT
    assert client.end_offset(topic, timestamp=EARLIEST_PENDING_UPLOAD) == tiered + 1
    assert int(local_logs(broker, topic)[0].removesuffix(".log")) == local


@pytest.mark.parametrize("number", [0, 7, 150, SEGMENTS * RECORDS_PER_SEGMENT - 1])
def test_a_timestamp_is_found_in_the_local_and_the_remote_part(client: Client, topic: str, number: int) -> None:
    assert client.end_offset(topic, timestamp=YESTERDAY_MS + number) == number


def test_a_timestamp_in_the_future_is_not_found(client: Client, topic: str) -> None:
    assert client.end_offset(topic, timestamp=YESTERDAY_MS * 2) == -1


def test_one_fetch_returns_local_and_remote_records(client: Client, topic: str) -> None:
    """Two remote partitions and a local one."""
    client.create_topic("local", 1, {"retention.ms": "-1"})
    client.produce("local", [b"here"])
    client.create_topic("other", 1, TIERED)
    fill(client, "other", 4)
    wait_until_tiered(client, "other", RECORDS_PER_SEGMENT)
    response = client.ask(fetch_request([(each, 0, 0) for each in (topic, "local", "other")], partition_max_bytes=1 << 20), FETCH_BY_NAME)
    answers = {each.topic: each.partitions[0] for each in response.responses}
    assert all(answer.error_code == 0 and answer.records for answer in answers.values())
    assert answers[topic].high_watermark == SEGMENTS * RECORDS_PER_SEGMENT


def test_aborted_records_stay_unseen_also_from_remote_storage(broker: EmbeddedBroker, client: Client) -> None:
    client.create_topic("transactional", 1, TIERED)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "t", "linger.ms": 5, "batch.size": 100_000})
    producer.init_transactions()
    expected = []
    for round_number in range(60):
        producer.begin_transaction()
        for each in range(10):
            value = value_of(round_number * 10 + each)
            producer.produce("transactional", value)
            if round_number % 3:
                expected.append(value)
        if round_number % 3:
            producer.commit_transaction()
        else:
            # Otherwise the producer would never send them.
            producer.flush()
            producer.abort_transaction()
    wait_until_tiered(client, "transactional", 3 * RECORDS_PER_SEGMENT)
    found = consume(broker, "transactional", len(expected), **{"isolation.level": "read_committed"})
    assert [value for _, value in found] == expected
    everything = consume(broker, "transactional", 600, **{"isolation.level": "read_uncommitted"})
    assert [value for _, value in everything] == [value_of(number) for number in range(600)]


def test_records_can_be_deleted_up_to_an_offset_in_the_remote_part(broker: EmbeddedBroker, client: Client, store: Path) -> None:
    client.create_topic("shortened", 1, TIERED)
    fill(client, "shortened", 6)
    wait_until_tiered(client, "shortened", 3 * RECORDS_PER_SEGMENT)
    assert remote_logs(store, "shortened")[0].name.startswith("0" * 20)
    partition = DeleteRecordsPartition(partition_index=0, offset=RECORDS_PER_SEGMENT + 50)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="shortened", partitions=[partition])], timeout_ms=10_000)
    assert client.ask(request).topics[0].partitions[0].low_watermark == RECORDS_PER_SEGMENT + 50
    until(lambda: not remote_logs(store, "shortened")[0].name.startswith("0" * 20), "what nobody can read any more is gone")
    assert client.fetch("shortened", offset=10).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.fetch("shortened", offset=RECORDS_PER_SEGMENT + 50).records


def test_remote_segments_above_the_total_retention_size_expire(client: Client, store: Path) -> None:
    client.create_topic("bounded", 1, {**TIERED, "retention.bytes": str(4 * SEGMENT_BYTES)})
    fill(client, "bounded", 10)
    until(lambda: client.end_offset("bounded", timestamp=EARLIEST) >= 5 * RECORDS_PER_SEGMENT, "the log begins later")
    until(lambda: len(remote_logs(store, "bounded")) <= 5, "the objects are gone too")
    start = client.end_offset("bounded", timestamp=EARLIEST)
    assert client.fetch("bounded", offset=start).records


def test_a_deleted_topic_leaves_nothing_behind(client: Client, store: Path) -> None:
    client.create_topic("deleted", 1, TIERED)
    fill(client, "deleted", 5)
    wait_until_tiered(client, "deleted", RECORDS_PER_SEGMENT)
    assert remote_logs(store, "deleted")
    client.delete_topic("deleted")
    until(lambda: not [path for path in store.rglob("*") if "deleted" in str(path) and path.is_file()], "the store is empty")


def test_remote_storage_can_be_turned_off_with_its_data_and_on_again(client: Client, store: Path) -> None:
    client.create_topic("switched", 1, TIERED)
    number = fill(client, "switched", 5)
    wait_until_tiered(client, "switched", RECORDS_PER_SEGMENT)
    off = {"remote.storage.enable": "false"}
    with pytest.raises(AssertionError, match="without deleting remote data"):
        client.alter_configs(TOPIC_RESOURCE, "switched", off)
    client.alter_configs(TOPIC_RESOURCE, "switched", {**off, "remote.log.delete.on.disable": "true"})
    until(lambda: not remote_logs(store, "switched"), "the store is empty")
    assert client.end_offset("switched", timestamp=EARLIEST) == client.end_offset("switched", timestamp=EARLIEST_LOCAL) > 0
    client.alter_configs(TOPIC_RESOURCE, "switched", {"remote.storage.enable": "true"})
    fill(client, "switched", 2, first=number)
    until(lambda: remote_logs(store, "switched"), "it is copied again")


def test_copying_stops_while_remote_copying_is_disabled(client: Client, store: Path) -> None:
    client.create_topic("paused", 1, {**TIERED, "local.retention.bytes": "-2", "remote.log.copy.disable": "true"})
    number = fill(client, "paused", 4)
    client.create_topic("beside", 1, TIERED)
    fill(client, "beside", 4)
    wait_until_tiered(client, "beside", RECORDS_PER_SEGMENT)
    assert not remote_logs(store, "paused")
    client.alter_configs(TOPIC_RESOURCE, "paused", {"remote.log.copy.disable": "false"})
    fill(client, "paused", 1, first=number)
    until(lambda: len(remote_logs(store, "paused")) >= 4, "it is copied after all")
