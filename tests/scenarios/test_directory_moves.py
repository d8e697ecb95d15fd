"""Replicas move between the directories of a broker while clients write and read them, and no
failure on the way loses a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.scenarios.client import Client, batch_of
from tests.scenarios.running import FailingDisk, RunningNode
from tests.waiting import until

BROKER = 4  # the kind of resource
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    return [tmp_path / "first", tmp_path / "second"]


@pytest.fixture
def node(directories: list[Path]) -> Iterator[RunningNode]:
    with RunningNode(directories) as running:
        yield running


@pytest.fixture
def client(node: RunningNode) -> Iterator[Client]:
    with Client(node.bootstrap) as connected:
        yield connected


def move(client: Client, topic: str, directory: Path, partition: int = 0) -> ErrorCode:
    asked = AlterReplicaLogDir(path=str(directory), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[partition])])
    return ErrorCode(client.ask(AlterReplicaLogDirsRequest(dirs=[asked])).results[0].partitions[0].error_code)


def places(client: Client, topic: str) -> list[tuple[str, bool]]:
    """Which directories have the topic's first partition, and whether only as a copy."""
    results = client.ask(DescribeLogDirsRequest(topics=None)).results
    return sorted(
        (Path(each.log_dir).name, partition.is_future_key)
        for each in results
        for described in each.topics
        if described.name == topic
        for partition in described.partitions
        if partition.partition_index == 0
    )


def home_and_away(client: Client, topic: str, directories: list[Path]) -> tuple[Path, Path]:
    ((home, _),) = places(client, topic)
    first, second = directories
    return (first, second) if home == "first" else (second, first)


def arrived(client: Client, topic: str, directory: Path) -> bool:
    return places(client, topic) == [(directory.name, False)]


def names(directory: Path, topic: str) -> list[str]:
    return sorted(each.name.partition(".")[0] + each.name.rpartition("-")[2] for each in directory.glob(f"{topic}-*"))


def hold(client: Client, rate: int) -> None:
    client.alter_configs(BROKER, "1", {RATE: str(rate)})


def test_a_replica_moves_while_it_is_written_and_read(directories: list[Path], node: RunningNode, client: Client) -> None:
    client.create_topic("t", 1, {"segment.bytes": "1048576", "file.delete.delay.ms": "0"})
    sent = [b"%d " % number + b"x" * 50_000 for number in range(60)]
    for value in sent[:40]:
        client.produce("t", [value])
    home, away = home_and_away(client, "t", directories)
    assert move(client, "t", away) == ErrorCode.NONE
    for value in sent[40:]:
        client.produce("t", [value])
    until(lambda: arrived(client, "t", away), "the replica is there")
    assert client.values("t") == sent
    client.produce("t", [b"more"])
    assert client.values("t", offset=60) == [b"more"]
    until(lambda: not list(home.glob("t-0*")), "the old one is removed")
    assert [each.name for each in away.glob("t-*")] == ["t-0"]
    image = node.node.broker.metadata.image
    moved = next(each for each in node.node.broker.replicas.directories if each.path == str(away))
    until(lambda: image is not None, "")
    partition = node.node.broker.metadata.image.topics.by_name["t"].partitions[0]
    assert partition.directory_of(1) == moved.directory_id, "the controller was told"


def test_a_throttled_move_is_listed_and_can_be_cancelled(directories: list[Path], node: RunningNode, client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"x" * 10_000])
    home, away = home_and_away(client, "t", directories)
    hold(client, 0)
    assert move(client, "t", away) == ErrorCode.NONE
    assert places(client, "t") == sorted([(home.name, False), (away.name, True)])
    described = client.ask(DescribeLogDirsRequest(topics=None)).results
    (lag,) = (each.offset_lag for result in described for topic in result.topics for each in topic.partitions if each.is_future_key)
    assert lag == 1
    assert move(client, "t", home) == ErrorCode.NONE
    assert places(client, "t") == [(home.name, False)]
    until(lambda: not list(away.glob("t-0*")), "the copy is removed")
    # Without the throttle the next move completes.
    assert move(client, "t", away) == ErrorCode.NONE
    hold(client, 1_000_000)
    until(lambda: arrived(client, "t", away), "the replica is there")
    assert len(client.values("t")) == 1


def test_a_move_continues_after_a_restart(directories: list[Path]) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"1", b"2"])
        client.produce("t", [b"3"])
        _, away = home_and_away(client, "t", directories)
        hold(client, 0)
        move(client, "t", away)
    assert len(list(away.glob("t-0.*-future"))) == 1
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        assert (away.name, True) in places(client, "t")
        hold(client, 1_000_000)
        until(lambda: arrived(client, "t", away), "the replica is there")
        assert client.values("t") == [b"1", b"2", b"3"]


def test_a_move_copies_no_deleted_records_and_ends_with_its_topic(directories: list[Path], node: RunningNode, client: Client) -> None:
    client.create_topic("t", 1, {"file.delete.delay.ms": "0"})
    for number in range(4):
        client.produce("t", [b"%d" % number])
    home, away = home_and_away(client, "t", directories)
    hold(client, 0)
    move(client, "t", away)
    deletes = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=3)])
    client.ask(DeleteRecordsRequest(topics=[deletes], timeout_ms=1000))
    hold(client, 1_000_000)
    until(lambda: arrived(client, "t", away), "the replica is there")
    assert client.end_offset("t", timestamp=-2) == 3
    assert client.values("t", offset=3) == [b"3"]
    hold(client, 0)
    move(client, "t", home)
    client.delete_topic("t")
    until(lambda: not [*home.glob("t-0*"), *away.glob("t-0*")], "both are removed")


def test_an_impossible_move_is_refused_with_an_error(directories: list[Path], node: RunningNode, client: Client) -> None:
    client.create_topic("t")
    _, away = home_and_away(client, "t", directories)
    assert move(client, "t", away.parent / "third") == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(client, "nobody", away) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # The broker remembered the request: the partition is created there, although the other
    # directory has fewer.
    client.create_topic("filler", 1)
    client.create_topic("nobody")
    assert arrived(client, "nobody", away)
    client.alter_configs(BROKER, "1", {"cordoned.log.dirs": str(away)})
    until(lambda: move(client, "t", away) == ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the directory is cordoned")
    cordoned = {Path(each.log_dir).name: each.is_cordoned for each in client.ask(DescribeLogDirsRequest(topics=None)).results}
    assert [name for name, is_so in cordoned.items() if is_so] == [away.name]
    for number in range(4):
        client.create_topic(f"new{number}")
        assert [each for each, _ in places(client, f"new{number}")] != [away.name]


def test_a_target_that_fails_ends_the_move_and_nothing_else(directories: list[Path], capfd: pytest.CaptureFixture[str]) -> None:
    disk = FailingDisk()
    with RunningNode(directories, disk=disk) as node, Client(node.bootstrap) as client:
        client.create_topic("t", 2)
        here = next(number for number in range(2) if (directories[0] / f"t-{number}").exists())
        client.produce("t", [b"kept"], partition=here)
        hold(client, 0)
        assert move(client, "t", directories[1], here) == ErrorCode.NONE
        disk.fail(directories[1], "write")
        hold(client, 1_000_000)
        until(
            lambda: ErrorCode.KAFKA_STORAGE_ERROR in [each.error_code for each in client.ask(DescribeLogDirsRequest(topics=None)).results],
            "the target is given up",
        )
        assert client.values("t", here) == [b"kept"]
        assert client.produce_batch("t", here, batch_of([b"more"])).error_code == ErrorCode.NONE
        assert move(client, "t", directories[1], here) == ErrorCode.KAFKA_STORAGE_ERROR
    capfd.readouterr()
