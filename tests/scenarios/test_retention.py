"""A broker that deletes records by time, by size and by request, and the view of its readers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.scenarios.client import Client
from tests.waiting import until

TOPIC = 2
EARLIEST = -2
SMALL_SEGMENTS = {"segment.bytes": str(1024 * 1024), "file.delete.delay.ms": "0"}
QUICK = {"log.retention.check.interval.ms": "20", "log.initial.task.delay.ms": "0"}
HOUR_MS = 3_600_000
VALUE = b"x" * 500_000
SEGMENT_BYTES = 2 * len(VALUE)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=QUICK) as kafka:
        yield kafka


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[Client]:
    with Client(broker.bootstrap) as made:
        yield made


def fill(client: Client, topic: str, batches: int, *, timestamp: int | None = None) -> None:
    """Batches of half a megabyte, two to a segment."""
    record = Record(0, timestamp or int(time.time() * 1000), b"k", VALUE)
    for _ in range(batches):
        assert client.produce_batch(topic, 0, build_batch([record])).error_code == 0


def start_of(client: Client, topic: str) -> int:
    return client.end_offset(topic, timestamp=EARLIEST)


def delete_records(client: Client, topic: str, offset: int) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=10_000)
    assert client.ask(request).topics[0].partitions[0].low_watermark == offset


def files_of(broker: EmbeddedBroker, topic: str) -> list[str]:
    return sorted(os.listdir(Path(broker.data_dir) / f"{topic}-0"))


def test_records_older_than_retention_ms_are_deleted_as_soon_as_it_is_set(broker: EmbeddedBroker, client: Client) -> None:
    client.create_topic("aged", 1, {**SMALL_SEGMENTS, "retention.ms": "-1"})
    fill(client, "aged", 6, timestamp=int(time.time() * 1000) - 2 * HOUR_MS)
    fill(client, "aged", 3)
    assert start_of(client, "aged") == 0
    client.alter_configs(TOPIC, "aged", {"retention.ms": str(HOUR_MS)})
    until(lambda: start_of(client, "aged") == 6, "the old half goes")
    until(lambda: files_of(broker, "aged")[0].startswith("00000000000000000006"), "and its files")
    assert client.fetch("aged", 0, 5).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.fetch("aged", 0, 6).error_code == ErrorCode.NONE


def test_an_old_active_segment_is_deleted_too_and_offsets_continue(client: Client) -> None:
    client.create_topic("forgotten", 1, {**SMALL_SEGMENTS, "retention.ms": str(HOUR_MS)})
    fill(client, "forgotten", 5, timestamp=int(time.time() * 1000) - 2 * HOUR_MS)
    until(lambda: start_of(client, "forgotten") == 5, "everything goes")
    fill(client, "forgotten", 1)
    assert client.end_offset("forgotten") == 6


def test_records_above_retention_bytes_are_deleted_and_enough_stay(client: Client) -> None:
    client.create_topic("large", 1, {**SMALL_SEGMENTS, "retention.bytes": str(2 * SEGMENT_BYTES)})
    fill(client, "large", 12)
    until(lambda: start_of(client, "large") >= 7, "the oldest go")
    assert start_of(client, "large") <= 8


def test_records_deleted_by_request_free_their_files(broker: EmbeddedBroker, client: Client) -> None:
    for number, policy in enumerate(("delete", "compact,delete", "")):
        topic = f"cut{number}"
        client.create_topic(topic, 1, {**SMALL_SEGMENTS, "cleanup.policy": policy, "retention.ms": "-1"})
        fill(client, topic, 6)
        delete_records(client, topic, 5)
        until(lambda topic=topic: files_of(broker, topic)[0].startswith("00000000000000000004"), f"its files go under {policy!r}")  # type: ignore[misc]
        assert start_of(client, topic) == 5


def test_nothing_is_deleted_without_a_cleanup_policy(client: Client) -> None:
    client.create_topic("kept", 1, {**SMALL_SEGMENTS, "cleanup.policy": "", "retention.ms": "1000", "retention.bytes": "1000"})
    client.create_topic("witness", 1, {**SMALL_SEGMENTS, "retention.ms": "1000"})
    for topic in ("kept", "witness"):
        fill(client, topic, 6, timestamp=int(time.time() * 1000) - 2 * HOUR_MS)
    until(lambda: start_of(client, "witness") == 6, "retention came by")
    assert start_of(client, "kept") == 0


def test_the_log_start_survives_a_restart_and_a_kill(tmp_path: Path) -> None:
    with EmbeddedBroker(process=True, data_dir=tmp_path, config=QUICK) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t", 1, {**SMALL_SEGMENTS, "retention.bytes": str(SEGMENT_BYTES)})
            fill(client, "t", 9)
            start = until(lambda: start_of(client, "t"), "segments go")
        kafka.kill()
        kafka.start()
        with Client(kafka.bootstrap) as client:
            assert start_of(client, "t") >= start
            assert client.end_offset("t") == 9
            fill(client, "t", 4)
            start = until(lambda: start_of(client, "t") if start_of(client, "t") > 8 else None, "more go")
        kafka.stop()
        kafka.start()
        with Client(kafka.bootstrap) as client:
            assert start_of(client, "t") >= start
