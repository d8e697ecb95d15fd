"""``log dump`` over the files of our own node: all of them, without changing them."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from barnabas.controller.core.features import SUPPORTED_FEATURES
from barnabas.env.real_disk import RealDisk
from barnabas.model.ids import Uuid, uuid_text
from barnabas.records.batch_builder import build_batch
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import Record
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.testing import EmbeddedBroker
from barnabas.wire.compiler import encode
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitKey, OffsetCommitValue
from barnabas.wire.coordinator_records.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from barnabas.wire.embedded.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition as AssignedPartitions,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tests.cli.running import Cli

FIRST_SEGMENT = "00000000000000000000"
VALUE = "value {} is" + " like all the others" * 10


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a stopped node that had a topic with keys, headers, codecs and an idempotent
    producer."""
    directory: Path = tmp_path_factory.mktemp("node") / "data"
    with EmbeddedBroker(data_dir=directory) as broker:
        cli = Cli(broker.bootstrap)
        cli("topics", "create", "orders", "--config", "index.interval.bytes=64").worked()
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            lines = b"".join(b"key %d=value %d is%s\n" % (number, number, b" like all the others" * 10) for number in range(20))
            cli("produce", "orders", "--key-separator", "=", "--header", "codec=" + codec, "--compression", codec, stdin=lines).worked()
        cli("produce", "orders", "--idempotent", "--key-format", "hex", "--key-separator", "=", stdin=b"ff00=last\n").worked()
    return directory


def entries(*words: object) -> list[dict[str, Any]]:
    return Cli()("log", "dump", *words, "--json").json_lines


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in found if each["kind"] == kind]


def test_batches_follow_each_other_without_a_gap(data: Path) -> None:
    batches = entries(data / "orders-0" / f"{FIRST_SEGMENT}.log")
    assert {each["kind"] for each in batches} == {"batch"}
    assert {each["codec"] for each in batches} >= {"none", "gzip", "snappy", "lz4", "zstd"}
    position = offset = 0
    for batch in batches:
        assert (batch["position"], batch["base_offset"]) == (position, offset)
        position += batch["size_bytes"]
        offset = batch["last_offset"] + 1
    assert offset == 101
    assert position == (data / "orders-0" / f"{FIRST_SEGMENT}.log").stat().st_size


def test_records_are_shown_with_keys_values_and_headers(data: Path) -> None:
    records = of_kind(entries(data / "orders-0" / f"{FIRST_SEGMENT}.log", "--records"), "record")
    assert [each["offset"] for each in records] == list(range(101))
    assert (records[21]["key"], records[21]["value"]) == ("key 1", VALUE.format(1))
    assert records[21]["headers"] == [{"name": "codec", "value": "gzip"}]
    assert (records[100]["key_base64"], records[100]["value"]) == (base64.b64encode(b"\xff\x00").decode(), "last")


def test_text_output_has_one_line_per_entry(data: Path) -> None:
    text = Cli()("log", "dump", data / "orders-0" / f"{FIRST_SEGMENT}.log", "--records").text.splitlines()
    assert text[0].startswith(f"{data}/orders-0/{FIRST_SEGMENT}.log (segment, ")
    assert text[1].startswith("  batch position=0 size_bytes=")
    assert text[2].startswith("    record offset=0 timestamp=")
    assert text[2].endswith('headers=[{"name": "codec", "value": "none"}]')
    assert f'key="key 0" value="{VALUE.format(0)}"' in text[2]
    assert "key=0xff00" in text[-1]


def test_indexes_point_to_batches(data: Path) -> None:
    batches = {each["position"]: each for each in entries(data / "orders-0" / f"{FIRST_SEGMENT}.log")}
    offsets = entries(data / "orders-0" / f"{FIRST_SEGMENT}.index")
    assert len(offsets) >= 4
    assert all(batches[each["position"]]["last_offset"] == each["offset"] for each in offsets)
    times = entries(data / "orders-0" / f"{FIRST_SEGMENT}.timeindex")
    assert times[-1]["timestamp"] == max(each["max_timestamp"] for each in batches.values())


def test_producers_of_a_snapshot_are_shown(data: Path) -> None:
    (producer,) = entries(data / "orders-0" / "00000000000000000101.snapshot")
    assert (producer["producer_epoch"], producer["last_sequence"], producer["last_offset"]) == (0, 0, 100)
    assert producer["transaction_first_offset"] is None


def test_metadata_records_are_shown_with_names(data: Path) -> None:
    found = entries(data / "__cluster_metadata-0" / f"{FIRST_SEGMENT}.log")
    (change,) = of_kind(found, "control_record")
    assert (change["type"], change["fields"]["leader_id"]) == ("LEADER_CHANGE", 1)
    named = {each["type"]: each["fields"] for each in of_kind(found, "named_record")}
    assert {"FeatureLevelRecord", "RegisterBrokerRecord", "PartitionRecord", "ProducerIdsRecord"} <= named.keys()
    assert named["TopicRecord"]["name"] == "orders"
    assert named["ConfigRecord"] == {
        "version": 0,
        "resource_type": 2,
        "resource_name": "orders",
        "name": "index.interval.bytes",
        "value": "64",
    }
    (described,) = entries(data / "orders-0" / "partition.metadata")
    assert described["topic_id"] == named["TopicRecord"]["topic_id"]


def test_small_files_are_shown_too(data: Path) -> None:
    (properties,) = entries(data / "meta.properties")
    assert (properties["version"], properties["node.id"]) == ("1", "1")
    (state,) = entries(data / "__cluster_metadata-0" / "quorum-state")
    assert (state["leaderId"], state["leaderEpoch"]) == (1, 1)
    assert [(each["epoch"], each["start_offset"]) for each in entries(data / "orders-0" / "leader-epoch-checkpoint")] == [(0, 0)]
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (checkpoint,) = entries(data / name)
        assert (checkpoint["topic"], checkpoint["partition"], checkpoint["offset"]) == ("orders", 0, 101)
    (shutdown,) = entries(data / ".kafka_cleanshutdown")
    assert shutdown["brokerEpoch"] >= 0


def test_a_directory_is_dumped_with_all_its_files(data: Path) -> None:
    shown = {Path(each["file"]).relative_to(data) for each in entries(data, "--deep")}
    # The largest file without an entry is a snapshot without producers.
    there = {path.relative_to(data) for path in data.rglob("*") if path.is_file() and path.stat().st_size > 10}
    assert shown == there | {path for path in shown if path.name == "leader-epoch-checkpoint"}


def test_a_snapshot_of_the_metadata_has_a_header_records_and_a_footer(data: Path) -> None:
    found = [each for each in entries(data / "bootstrap.checkpoint") if each["kind"] != "batch"]
    assert [each["type"] for each in found] == ["SNAPSHOT_HEADER", *["FeatureLevelRecord"] * len(SUPPORTED_FEATURES), "SNAPSHOT_FOOTER"]


def test_dump_changes_creates_and_removes_nothing(data: Path) -> None:
    before = _state_of(data)
    Cli()("log", "dump", data, "--deep", "--records").worked()
    assert _state_of(data) == before


def _state_of(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    files = sorted(path for path in directory.rglob("*"))
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size, path.read_bytes() if path.is_file() else b"") for path in files}


def test_files_of_a_running_node_can_be_dumped(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path) as broker:
        cli = Cli(broker.bootstrap)
        cli("topics", "create", "orders").worked()
        cli("produce", "orders", stdin=b"a\nb\n").worked()
        assert len(of_kind(entries(tmp_path / "orders-0", "--records", "--deep"), "record")) == 2
        cli("produce", "orders", stdin=b"c\n").worked()
        assert cli("consume", "orders", "--from-beginning", "--until-end").text == "a\nb\nc\n"


def test_a_deleted_segment_is_dumped_like_a_segment(data: Path, tmp_path: Path) -> None:
    log = data / "orders-0" / f"{FIRST_SEGMENT}.log"
    (tmp_path / f"{FIRST_SEGMENT}.log.deleted").write_bytes(log.read_bytes())
    assert len(entries(tmp_path / f"{FIRST_SEGMENT}.log.deleted")) == len(entries(log))


def test_markers_of_transactions_are_shown(tmp_path: Path) -> None:
    log = tmp_path / f"{FIRST_SEGMENT}.log"
    log.write_bytes(build_end_transaction(ControlType.ABORT, coordinator_epoch=7, producer_id=5, producer_epoch=2, timestamp=1000))
    batch, marker = entries(log, "--records")
    assert (batch["transactional"], batch["control"], batch["producer_id"]) == (True, True, 5)
    assert (marker["type"], marker["fields"]) == ("ABORT", {"version": 0, "coordinator_epoch": 7})


def test_aborted_transactions_are_shown(tmp_path: Path) -> None:
    path = tmp_path / f"{FIRST_SEGMENT}.txnindex"
    index = TransactionIndex(RealDisk(), str(path))
    index.append(AbortedTransaction(producer_id=5, first_offset=10, last_offset=12, last_stable_offset=13))
    index.file.close()
    (aborted,) = entries(path)
    assert (aborted["producer_id"], aborted["first_offset"], aborted["last_offset"], aborted["last_stable_offset"]) == (5, 10, 12, 13)


def _typed(number: int, message: Any, version: int) -> bytes:
    return number.to_bytes(2, "big") + encode(message, version)


def test_records_of_coordinator_topics_are_shown_with_names(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-3"
    directory.mkdir()
    key = _typed(1, OffsetCommitKey(group="g", topic="orders", partition=2), 0)
    value = _typed(4, OffsetCommitValue(offset=42, metadata="m", commit_timestamp=5), 4)
    batch = build_batch([Record(0, 5, key, value), Record(1, 6, key, None)])
    (directory / f"{FIRST_SEGMENT}.log").write_bytes(batch)
    commit, tombstone = of_kind(entries(directory), "named_record")
    assert commit["type"] == "OffsetCommit"
    assert commit["fields"]["key"] == {"group": "g", "topic": "orders", "partition": 2}
    assert commit["fields"]["value"] == {"version": 4, "offset": 42, "leader_epoch": -1, "metadata": "m", "commit_timestamp": 5}
    assert "tombstone" not in commit
    assert (tombstone["tombstone"], tombstone["fields"]["value"]) == (True, None)
    assert "type=OffsetCommit tombstone=true fields=" in Cli()("log", "dump", directory).text
    assert [each["kind"] for each in entries(directory, "--as", "none")] == ["batch"]
    _, raw, _ = entries(directory, "--raw")
    assert base64.b64decode(raw["value_base64"]) == value
    assert "give one of them" in Cli()("log", "dump", directory, "--raw", "--as", "groups").complaint


def test_subscriptions_and_assignments_of_classic_consumers_are_decoded(tmp_path: Path) -> None:
    subscription = _typed(
        1, ConsumerProtocolSubscription(topics=["orders"], owned_partitions=[TopicPartition(topic="orders", partitions=[1])]), 1
    )
    # As a newer client would write it.
    assignment = _typed(9, ConsumerProtocolAssignment(assigned_partitions=[AssignedPartitions(topic="orders", partitions=[0, 1])]), 3)
    group = GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="m",
        members=[
            MemberMetadata(
                member_id="m", client_id="c", client_host="/h", session_timeout=1, subscription=subscription, assignment=assignment
            )
        ],
    )
    (record,) = of_kind(
        _dump_of_groups(tmp_path, Record(0, 5, _typed(2, GroupMetadataKey(group="g"), 0), _typed(3, group, 3))), "named_record"
    )
    (member,) = record["fields"]["value"]["members"]
    assert member["subscription"]["topics"] == ["orders"]
    assert member["subscription"]["owned_partitions"] == [{"topic": "orders", "partitions": [1]}]
    assert member["assignment"]["assigned_partitions"] == [{"topic": "orders", "partitions": [0, 1]}]


def test_a_record_of_an_unknown_type_is_skipped_as_coordinators_do(tmp_path: Path) -> None:
    (record,) = of_kind(_dump_of_groups(tmp_path, Record(0, 5, b"\x7f\x7f", b"x")), "named_record")
    assert (record["type"], record["fields"]) == ("UNKNOWN_32639", {"key": "\x7f\x7f", "value": "x"})


def _dump_of_groups(tmp_path: Path, record: Record) -> list[dict[str, Any]]:
    directory = tmp_path / "__consumer_offsets-3"
    directory.mkdir()
    (directory / f"{FIRST_SEGMENT}.log").write_bytes(build_batch([record]))
    return entries(directory)


def test_the_schema_of_a_copied_segment_can_be_given(tmp_path: Path) -> None:
    topic_id = Uuid(os.urandom(16))
    key = _typed(0, ShareSnapshotKey(group_id="g", topic_id=topic_id, partition=0), 0)
    state = ShareSnapshotValue(
        snapshot_epoch=3, state_epoch=1, leader_epoch=2, start_offset=9, create_timestamp=0, write_timestamp=0, state_batches=[]
    )
    copy = tmp_path / f"{FIRST_SEGMENT}.log"
    copy.write_bytes(build_batch([Record(0, 5, key, _typed(0, state, 0))]))
    assert of_kind(entries(copy, "--records"), "named_record") == []
    (record,) = of_kind(entries(copy, "--as", "share-state"), "named_record")
    assert (record["type"], record["fields"]["key"]["topic_id"]) == ("ShareSnapshot", uuid_text(topic_id))
    assert record["fields"]["value"]["start_offset"] == 9


def test_a_preallocated_index_is_not_damage(data: Path, tmp_path: Path) -> None:
    for suffix in (".index", ".timeindex"):
        original = data / "orders-0" / f"{FIRST_SEGMENT}{suffix}"
        roomy = tmp_path / original.name
        roomy.write_bytes(original.read_bytes() + bytes(1200))
        *shown, unused = entries(roomy)
        assert len(shown) == len(entries(original))
        assert (unused["kind"], unused["size_bytes"]) == ("unused", 1200)
        roomy.write_bytes(bytes(1200))
        assert [each["kind"] for each in entries(roomy)] == ["unused"]


def test_an_empty_checkpoint_of_kafka_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(b"")
    assert entries(tmp_path) == []


@pytest.mark.parametrize("name", ["notes.txt", "00000000000000000000.bak", "server.properties"])
def test_an_unknown_file_is_refused_by_name_and_skipped_in_a_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("hello")
    assert Cli()("log", "dump", tmp_path / name).complaint == f"{tmp_path}/{name} does not have the name of a file that a node writes."
    assert entries(tmp_path) == []


def test_a_missing_path_is_one_sentence(data: Path) -> None:
    assert Cli()("log", "dump", data / "nope").complaint == f"{data}/nope: no such file or directory."
    # Refused before anything is printed, although it comes last.
    assert Cli()("log", "dump", data / "meta.properties", data / "nope").out == b""
