"""Snapshots of the metadata log: written when enough has changed, loaded at the next start, and
replaced by the log when they are damaged.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.metadata.snapshot import decode_snapshot, parse_snapshot_name
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.metadata_records import TopicRecord
from tests.scenarios.client import Client
from tests.scenarios.running import RunningNode
from tests.waiting import until

METADATA = "__cluster_metadata-0"
OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "200"}


def snapshots(directory: Path) -> list[Path]:
    return sorted(each for each in (directory / METADATA).glob("*.checkpoint") if parse_snapshot_name(each.name))


def make_snapshot(directory: Path, *topics: str) -> Path:
    """Runs a node until it has written a snapshot with these topics; returns its path."""

    def has_all(path: Path) -> bool:
        records, _ = decode_snapshot(path.read_bytes())
        return {record.name for record in records if isinstance(record, TopicRecord)} == set(topics)

    with RunningNode([directory], config=OFTEN) as node, Client(node.bootstrap) as client:
        for topic in topics:
            client.create_topic(topic)
            client.produce(topic, [topic.encode()])
        return until(lambda: next((each for each in snapshots(directory) if has_all(each)), None), "a snapshot with all topics")


def topics_of(node: RunningNode) -> dict[str, list[bytes | None]]:
    with Client(node.bootstrap) as client:
        described = client.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
        return {topic.name: client.values(topic.name) for topic in described.topics}


def test_a_snapshot_is_written_and_is_all_the_next_start_needs(tmp_path: Path) -> None:
    latest = make_snapshot(tmp_path, "a", "b", "c")
    # Without the log before the snapshot, the node knows only the records in the snapshot.
    for each in (tmp_path / METADATA).glob("0*.log"):
        each.unlink()
    for each in snapshots(tmp_path):
        if each > latest:
            each.unlink()
    with RunningNode([tmp_path]) as node:
        assert topics_of(node) == {"a": [b"a"], "b": [b"b"], "c": [b"c"]}


def test_a_snapshot_and_the_log_after_it_are_loaded_together(tmp_path: Path) -> None:
    make_snapshot(tmp_path, "a")
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        client.create_topic("later")
    with RunningNode([tmp_path]) as node:
        assert set(topics_of(node)) == {"a", "later"}


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_snapshot_is_replaced_by_the_log_while_the_log_has_it(tmp_path: Path, damage: str) -> None:
    make_snapshot(tmp_path, "a", "b")
    latest = snapshots(tmp_path)[-1]
    data = bytearray(latest.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    latest.write_bytes({"cut": bytes(data[:-1]), "flipped": bytes(data), "empty": b""}[damage])
    with RunningNode([tmp_path]) as node:
        assert topics_of(node) == {"a": [b"a"], "b": [b"b"]}
    assert not latest.exists()


def test_an_unfinished_snapshot_is_removed(tmp_path: Path) -> None:
    with RunningNode([tmp_path]):
        pass
    part = tmp_path / METADATA / "00000000000000000099-0000000001.checkpoint.part"
    part.write_bytes(b"half of it")
    with RunningNode([tmp_path]) as node:
        assert topics_of(node) == {}
    assert not part.exists()


def names_in(snapshot: Path) -> set[str]:
    return {record.name for record in decode_snapshot(snapshot.read_bytes())[0] if isinstance(record, TopicRecord)}


def test_a_deleted_topic_is_in_no_later_snapshot(tmp_path: Path) -> None:
    make_snapshot(tmp_path, "a", "b")
    with RunningNode([tmp_path], config=OFTEN) as node, Client(node.bootstrap) as client:
        before = snapshots(tmp_path)[-1]
        client.delete_topic("a")
        for number in range(5):
            client.create_topic(f"filler-{number}")

        def later() -> set[str] | None:
            """The names in a snapshot that was made after the deletion."""
            found = (names_in(each) for each in snapshots(tmp_path) if each > before)
            return next((names for names in found if "filler-0" in names), None)

        names = until(later, "a newer snapshot")
    assert "a" not in names
    assert "b" in names


def test_old_snapshots_and_the_log_they_cover_are_deleted_above_the_size_limit(tmp_path: Path) -> None:
    config = {**OFTEN, "metadata.max.retention.bytes": "1000", "metadata.log.segment.bytes": "8388608"}
    with EmbeddedBroker(data_dir=tmp_path, config=config) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("first")
        until(lambda: snapshots(tmp_path), "the first snapshot")
        oldest = snapshots(tmp_path)[0]
        for number in range(20):
            client.create_topic(f"t{number}")
        until(lambda: snapshots(tmp_path) and oldest not in snapshots(tmp_path), "the oldest snapshot is removed")
    with RunningNode([tmp_path]) as node:
        assert len(topics_of(node)) == 21
