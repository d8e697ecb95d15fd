"""We open the directories of a real Apache Kafka, after a clean stop and after ``kill -9``, and
read everything back.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.cli.log.dump.read_only_disk import ReadOnlyDisk
from barnabas.cli.log.verify.directory_scrub import scrub_log_directory
from barnabas.cli.log.verify.findings import Scrub
from barnabas.env.real_disk import RealDisk
from barnabas.records.batch_header import read_header
from barnabas.records.record import open_batch
from barnabas.storage.checkpoints import RECOVERY_POINTS, read_offsets
from barnabas.storage.file_names import parse_partition_directory
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import read_meta_properties
from barnabas.storage.recovery import RecoveryReport, open_log
from peers.apache_kafka import CLUSTER_ID, apache_kafka, why_missing
from tests.unit.storage.logs import NOW_MS, all_batches
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 400
Row: TypeAlias = tuple[int, bytes | None, bytes | None]
TOPIC_CONFIG = {"segment.bytes": str(1 << 20), "index.interval.bytes": "1024"}


def value_of(number: int) -> bytes:
    return b"%06d " % number * 60


def produce(bootstrap: str, sizes: dict[str, int]) -> None:
    """Produces ``sizes`` records to topics that are named after their codec, or are not
    compressed."""
    producers = []
    for topic, count in sizes.items():
        codec = topic if topic in CODECS else "none"
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5, "enable.idempotence": True})
        for number in range(count):
            producer.produce(topic, key=b"key-%d" % (number % 13), value=value_of(number), headers={"number": b"%d" % number})
        producers.append(producer)
    for producer in producers:
        assert producer.flush(PATIENCE_SECONDS) == 0


def produce_transactions(bootstrap: str, topic: str) -> None:
    """Ten transactions of ten records; those with odd numbers are aborted."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "writer", "linger.ms": 0})
    producer.init_transactions(30)
    for number in range(10):
        producer.begin_transaction()
        for record in range(10):
            producer.produce(topic, value=b"transaction %d record %d" % (number, record))
        producer.flush(PATIENCE_SECONDS)
        if number % 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


def consume(bootstrap: str, topics: list[str], isolation: str = "read_uncommitted") -> dict[str, list[Row]]:
    settings = {"enable.auto.commit": False, "enable.partition.eof": True, "fetch.wait.max.ms": 20}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": isolation, **settings})
    consumer.assign([ClientPartition(topic, 0, 0) for topic in topics])
    found: dict[str, list[Row]] = {topic: [] for topic in topics}
    waiting = set(topics)
    while waiting:
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None
        topic, offset = message.topic(), message.offset()
        assert topic is not None
        assert offset is not None
        if message.error() is not None:
            waiting.discard(topic)
        else:
            found[topic].append((offset, message.key(), message.value()))
    consumer.close()
    return found


class Found:
    """A copy of the broker's log directory, and the records that its consumers had read before."""

    def __init__(self, directory: Path, read: dict[str, list[Row]], committed: list[Row], *, clean: bool) -> None:
        self.directory = directory
        self.read = read
        self.committed = committed
        self.clean = clean

    def open(self, name: str) -> tuple[Log, RecoveryReport]:
        disk = RealDisk()
        partition = parse_partition_directory(name)
        assert partition is not None
        points = read_offsets(disk, str(self.directory / RECOVERY_POINTS))
        return open_log(
            disk,
            str(self.directory / name),
            partition,
            LogSettings(),
            clean=self.clean,
            recovery_point=points.get(partition, 0),
            log_start_offset=0,
            now_ms=NOW_MS,
        )


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """One directory, copied twice: after the broker stopped cleanly, and after the restarted broker
    was killed."""
    data = tmp_path_factory.mktemp("kafka") / "data"
    stopped, killed = data.with_name("stopped"), data.with_name("killed")
    topics = [*CODECS, "large", "transactions"]
    few = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
    with apache_kafka(data, extra=few) as (bootstrap, _):
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for future in admin.create_topics([NewTopic(topic, 1, 1, config=TOPIC_CONFIG) for topic in topics]).values():
            future.result(PATIENCE_SECONDS)
        produce(bootstrap, {**dict.fromkeys(CODECS, RECORDS), "large": 20 * RECORDS})
        produce_transactions(bootstrap, "transactions")
        read = consume(bootstrap, topics)
        committed = consume(bootstrap, ["transactions"], "read_committed")["transactions"]
    shutil.copytree(data, stopped)
    with apache_kafka(data, extra=few, format_storage=False) as (bootstrap, process):
        produce(bootstrap, dict.fromkeys(CODECS, RECORDS))
        read_again = consume(bootstrap, topics)
        process.kill()
        process.wait()
        shutil.copytree(data, killed)
    assert (stopped / ".kafka_cleanshutdown").exists()
    assert not (killed / ".kafka_cleanshutdown").exists()
    return {"stopped": Found(stopped, read, committed, clean=True), "killed": Found(killed, read_again, committed, clean=False)}


@pytest.fixture(params=["stopped", "killed"])
def found(request: pytest.FixtureRequest, directories: dict[str, Found]) -> Found:
    return directories[request.param]


def data_records(log: Log) -> Iterator[Row]:
    for batch in all_batches(log):
        if not read_header(batch).control:
            for record in open_batch(batch):
                yield record.offset, record.key, record.value


def test_a_scrub_finds_no_error_in_kafkas_directory(found: Found) -> None:
    """The scrub runs before any program has opened the directory, which would derive indexes
    again."""
    scrub = Scrub(deep=True)
    scrub_log_directory(scrub, ReadOnlyDisk(), str(found.directory))
    assert [each.text for each in scrub.findings] == []
    assert scrub.partitions >= 9
    assert scrub.segments > scrub.partitions


@pytest.mark.parametrize("topic", [*CODECS, "large"])
def test_every_record_that_a_consumer_read_is_read(topic: str, found: Found) -> None:
    log, _ = found.open(f"{topic}-0")
    assert list(data_records(log)) == found.read[topic]
    assert len(found.read[topic]) >= RECORDS
    if topic == "large":
        assert len(log.segments) > 1
    log.abandon()


def test_aborted_transactions_are_known(found: Found) -> None:
    log, _ = found.open("transactions-0")
    assert list(data_records(log)) == found.read["transactions"]
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert len(aborted) == 5
    hidden = {offset for each in aborted for offset in range(each.first_offset, each.last_offset)}
    assert [row for row in data_records(log) if row[0] not in hidden] == found.committed
    log.abandon()


def test_opening_kafkas_directory_truncates_and_removes_nothing(found: Found) -> None:
    """This includes Kafka's internal topics: offsets, transactions and its metadata."""
    names = [path.name for path in found.directory.iterdir() if parse_partition_directory(path.name)]
    assert {"__cluster_metadata-0", "__transaction_state-0"} <= set(names)
    for name in names:
        log, report = found.open(name)
        assert (report.bytes_truncated, report.segments_removed) == (0, 0), (name, report.notes)
        log.abandon()


def test_producers_are_known_after_opening(found: Found) -> None:
    log, _ = found.open("large-0")
    (producer,) = log.producers
    assert producer.last_sequence == RECORDS * 20 - 1
    assert producer.batches[-1].last_offset == log.log_end_offset - 1
    log.abandon()


def test_opening_after_a_clean_stop_changes_nothing(directories: dict[str, Found]) -> None:
    found = directories["stopped"]
    for name in ("large-0", "transactions-0", "zstd-0"):
        before = {path.name: path.read_bytes() for path in (found.directory / name).iterdir()}
        log, report = found.open(name)
        log.close()
        assert not report.eventful, report.notes
        assert {path.name: path.read_bytes() for path in (found.directory / name).iterdir()} == before


def test_a_barnabas_node_takes_over_the_whole_directory(found: Found, tmp_path: Path) -> None:
    disk, copy = RealDisk(), tmp_path / "copy"
    shutil.copytree(found.directory, copy)
    meta = read_meta_properties(disk, str(copy))
    assert meta is not None
    assert (meta.cluster_id, meta.node_id) == (CLUSTER_ID, 1)
    directory = LogDirectory(disk, str(copy), meta.directory_id)
    directory.lock()
    clean, epoch = directory.take_clean_shutdown()
    assert (clean, epoch >= 0) == (found.clean, found.clean)
    opened = list(directory.open_logs(lambda topic: LogSettings(), clean=clean, now_ms=NOW_MS))
    assert {each.log.partition.topic for each in opened} >= set(found.read)
    assert all(each.topic_id is not None for each in opened)
    directory.close(broker_epoch=epoch)
