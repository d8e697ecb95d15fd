"""Our dump and Kafka's of the same files: those that Kafka wrote, and those that we wrote."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.record import Record
from barnabas.records.record_scan import body_of
from barnabas.storage.compaction.batch_rewrite import emptied, with_delete_horizon
from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, run_tool, why_missing
from tests.cli.log.kafka_dump import Facts, kafkas, ours
from tests.cli.log.test_dump_of_remote_files import write_metadata
from tests.cli.running import Cli
from tests.conformance.directories.share_state_keeper import keeping
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))]

CONFIG = {
    # A snapshot of the metadata after every change.
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}


@pytest.fixture(scope="module")
def kafkas_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory of Apache Kafka: every codec, transactions that were committed and aborted,
    groups of both kinds."""
    directory: Path = tmp_path_factory.mktemp("apache-kafka") / "data"
    with apache_kafka(directory, extra=CONFIG) as (bootstrap, _):
        _work(bootstrap)
    return directory


@pytest.fixture(scope="module")
def our_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of ours."""
    directory: Path = tmp_path_factory.mktemp("barnabas") / "data"
    with EmbeddedBroker(data_dir=directory, config=CONFIG) as broker:
        _work(broker.bootstrap)
    return directory


def _work(bootstrap: str) -> None:
    _fill(bootstrap)
    _run_transactions(bootstrap)
    for protocol in ("classic", "consumer"):
        _commit_offsets(bootstrap, protocol)
    with keeping(bootstrap) as keeper:
        keeper.found()
        keeper.write(0)
    # Unreferenced consumers are closed when they are collected.
    gc.collect()


def _fill(bootstrap: str) -> None:
    admin = AdminClient(_quiet(bootstrap))
    topic = NewTopic("orders", num_partitions=1, replication_factor=1, config={"index.interval.bytes": "100", "retention.ms": "123456789"})
    admin.create_topics([topic])["orders"].result(PATIENCE_SECONDS)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({**_quiet(bootstrap), "compression.type": codec, "enable.idempotence": codec == "gzip", "linger.ms": 50})
        for number in range(20):
            headers: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("n", None)]
            producer.produce("orders", f"value {number} " * 5, key=f"key {number}", headers=headers)
        producer.produce("orders", None, key=b"\xff\x00")
        producer.flush()


def _run_transactions(bootstrap: str) -> None:
    for commit in (True, False, True):
        producer = Producer({**_quiet(bootstrap), "transactional.id": "tx"})
        producer.init_transactions(PATIENCE_SECONDS)
        producer.begin_transaction()
        producer.produce("orders", b"in a transaction")
        producer.flush()
        if commit:
            producer.commit_transaction(PATIENCE_SECONDS)
        else:
            producer.abort_transaction(PATIENCE_SECONDS)


def _commit_offsets(bootstrap: str, protocol: str) -> None:
    settings = {"group.id": protocol, "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumer = Consumer({**_quiet(bootstrap), **settings})
    consumer.subscribe(["orders"])
    assert consumer.poll(PATIENCE_SECONDS) is not None
    consumer.commit(asynchronous=False)
    consumer.close()


def _quiet(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "log_level": 0}


def _our_dump(*words: object) -> dict[str, list[Facts]]:
    return ours(Cli()("log", "dump", *words, "--deep", "--records", "--json").json_lines)


def assert_same(ours: dict[str, list[Facts]], theirs: dict[str, list[Facts]]) -> None:
    """Entry by entry, so that a difference is shown alone."""
    assert ours.keys() == theirs.keys()
    for path in theirs:
        for our_entry, their_entry in zip(ours[path], theirs[path], strict=True):
            assert our_entry == their_entry


def _files(directory: Path, partition: str, *suffixes: str) -> list[Path]:
    found = sorted(each for each in (directory / partition).iterdir() if each.suffix in suffixes and each.stat().st_size)
    assert {each.suffix for each in found} == set(suffixes), f"{partition} has no files {suffixes}"
    return found


def test_a_partition_that_kafka_wrote_is_dumped_alike(kafkas_files: Path) -> None:
    files = _files(kafkas_files, "orders-0", ".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    theirs = kafkas(files, "--deep-iteration", "--print-data-log")
    assert len(theirs) == 5
    assert_same(_our_dump(*files), theirs)


def test_metadata_that_kafka_wrote_is_dumped_alike(kafkas_files: Path) -> None:
    files = _files(kafkas_files, "__cluster_metadata-0", ".log", ".checkpoint")
    files = [each for each in files if each.suffix == ".log"] + [each for each in files if each.suffix == ".checkpoint"][-1:]
    theirs = kafkas(files, "--cluster-metadata-decoder")
    named = [fact["type"] for facts in theirs.values() for fact in facts if "type" in fact]
    assert {"TOPIC_RECORD", "PARTITION_RECORD", "CONFIG_RECORD", "REGISTER_BROKER_RECORD", "SnapshotFooter"} <= set(named)
    assert_same(_our_dump(*files), theirs)


def test_groups_that_kafka_wrote_are_dumped_alike(kafkas_files: Path) -> None:
    files = _files(kafkas_files, "__consumer_offsets-0", ".log")
    theirs = kafkas(files, "--offsets-decoder")
    _assert_named(theirs)
    assert_same(_our_dump(*files), theirs)


def test_transactions_that_kafka_wrote_are_dumped_alike(kafkas_files: Path) -> None:
    files = _files(kafkas_files, "__transaction_state-0", ".log")
    theirs = kafkas(files, "--transaction-log-decoder")
    _assert_named(theirs)
    assert_same(_our_dump(*files), theirs)


def test_share_states_that_kafka_wrote_are_dumped_alike(kafkas_files: Path) -> None:
    files = _files(kafkas_files, "__share_group_state-0", ".log")
    theirs = kafkas(files, "--share-group-state-decoder")
    _assert_named(theirs)
    assert_same(_our_dump(*files), theirs)


def test_a_whole_directory_of_kafka_has_no_damage(kafkas_files: Path) -> None:
    dumped = _our_dump(kafkas_files)
    names = {Path(name).name for name in dumped}
    assert {"meta.properties", "quorum-state", "leader-epoch-checkpoint", "partition.metadata", "bootstrap.checkpoint"} <= names
    assert {"recovery-point-offset-checkpoint", "replication-offset-checkpoint", ".kafka_cleanshutdown"} <= names


def test_a_partition_that_we_wrote_is_dumped_alike(our_files: Path) -> None:
    files = _files(our_files, "orders-0", ".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    theirs = kafkas(files, "--deep-iteration", "--print-data-log")
    assert len(theirs) == 5
    assert_same(_our_dump(*files), theirs)


def test_metadata_that_we_wrote_is_dumped_alike(our_files: Path) -> None:
    files = _files(our_files, "__cluster_metadata-0", ".log")
    checkpoints = sorted((our_files / "__cluster_metadata-0").glob("*.checkpoint"))[-1:]
    assert_same(_our_dump(*files, *checkpoints), kafkas([*files, *checkpoints], "--cluster-metadata-decoder"))


def test_groups_that_we_wrote_are_dumped_alike(our_files: Path) -> None:
    files = _files(our_files, "__consumer_offsets-0", ".log")
    theirs = kafkas(files, "--offsets-decoder")
    _assert_named(theirs)
    assert_same(_our_dump(*files), theirs)


def test_transactions_that_we_wrote_are_dumped_alike(our_files: Path) -> None:
    files = _files(our_files, "__transaction_state-0", ".log")
    theirs = kafkas(files, "--transaction-log-decoder")
    _assert_named(theirs)
    assert_same(_our_dump(*files), theirs)


def test_share_states_that_we_wrote_are_dumped_alike(our_files: Path) -> None:
    files = _files(our_files, "__share_group_state-0", ".log")
    theirs = kafkas(files, "--share-group-state-decoder")
    _assert_named(theirs)
    assert_same(_our_dump(*files), theirs)


def test_a_compacted_log_is_dumped_alike(tmp_path: Path) -> None:
    """Batches with a delete horizon, and empty ones that only keep a producer's last sequence
    number."""
    closed = build_batch([Record(3, 1000, b"key", None), Record(5, 1001, b"other", b"v")], base_offset=3)
    last = build_batch([Record(9, 1000, b"key", b"v")], base_offset=9, producer_id=5, producer_epoch=1, base_sequence=7)
    horizon = with_delete_horizon(read_header(closed), body_of(closed, read_header(closed)), [0, 1], 90_000)
    empty = emptied(read_header(last))
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(bytes(horizon.data) + bytes(empty.data))
    theirs = kafkas([log], "--deep-iteration", "--print-data-log")
    assert [fact.get("deleteHorizonMs") for fact in theirs[str(log)]] == ["OptionalLong[90000]", None, None, "OptionalLong.empty"]
    assert_same(_our_dump(log), theirs)


def test_remote_log_metadata_that_we_wrote_is_dumped_alike(tmp_path: Path) -> None:
    log = write_metadata(tmp_path)
    text = run_tool("org.apache.kafka.tools.DumpLogSegments", "--remote-log-metadata-decoder", "--files", str(log))
    copied, finished, deleted = (line.partition(" payload: ")[2] for line in text.splitlines() if line.startswith("| "))
    ours = [each["fields"] for each in Cli()("log", "dump", log, "--json").json_lines if each["kind"] == "named_record"]
    named = ours[2]["topic_id_partition"]
    partition = f"{named['id']}:{named['name']}-{named['partition']}"
    segment = f"RemoteLogSegmentId{{topicIdPartition={partition}, id={ours[0]['remote_log_segment_id']['id']}}}"
    epochs = ", ".join(f"{each['leader_epoch']}={each['offset']}" for each in ours[0]["segment_leader_epochs"])
    assert copied.startswith(f"RemoteLogSegmentMetadata{{remoteLogSegmentId={segment}, startOffset={ours[0]['start_offset']}, ")
    assert f"endOffset={ours[0]['end_offset']}, brokerId=1, maxTimestampMs={ours[0]['max_timestamp_ms']}, " in copied
    assert f"segmentLeaderEpochs={{{epochs}}}, segmentSizeInBytes={ours[0]['segment_size_in_bytes']}, " in copied
    assert "state=COPY_SEGMENT_STARTED, txnIdxEmpty=true" in copied
    assert f"{segment}, customMetadata=Optional.empty, state=COPY_SEGMENT_FINISHED, eventTimestampMs=5679" in finished
    assert f"topicPartition={partition}, state=DELETE_PARTITION_MARKED, eventTimestampMs=5680" in deleted


def test_the_same_work_leaves_the_same_kinds_of_records(our_files: Path, kafkas_files: Path) -> None:
    """How often members are written depends on timing; which records a coordinator needs for them
    does not."""
    for partition in ("__consumer_offsets-0", "__transaction_state-0"):
        ours, theirs = (_kinds(*_files(files, partition, ".log")) for files in (our_files, kafkas_files))
        assert ours == theirs


def _assert_named(found: dict[str, list[Facts]]) -> None:
    assert any("key" in fact for facts in found.values() for fact in facts)


def _kinds(*words: object) -> set[tuple[str, bool, int | None]]:
    """Type, whether it is a tombstone, and the version of the value."""
    named = [each for each in Cli()("log", "dump", *words, "--json").json_lines if each["kind"] == "named_record"]
    return {(each["type"], "tombstone" in each, (each["fields"]["value"] or {}).get("version")) for each in named}
