"""Several log directories of which one fails: its partitions report it, the others are served, and
nothing acknowledged is lost.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.model.cannot_start import CannotStart
from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from tests.scenarios.client import FETCH_BY_NAME, Client, batch_of, fetch_request
from tests.scenarios.running import FailingDisk, RunningNode
from tests.waiting import until

PARTITIONS = 4
OFFLINE = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    """The first one holds the metadata log, so the second one is the one that may fail."""
    return [tmp_path / "first", tmp_path / "second"]


def partitions_in(directory: Path, topic: str = "t") -> list[int]:
    return sorted(int(each.name.rpartition("-")[2]) for each in directory.glob(f"{topic}-*") if each.name.count("-") == 1)


def fill(client: Client, *, first: int = 0) -> None:
    for partition in range(PARTITIONS):
        client.produce("t", [b"%d" % (first + number) for number in range(3)], partition=partition)


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def errors_of(client: Client, partition: int) -> dict[str, int]:
    """The error of every API that reports on a partition."""
    offsets = ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=partition, timestamp=-1)])],
    )
    deletes = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=partition, offset=0)])], timeout_ms=1000
    )
    epochs = OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderTopic(
                topic="t", partitions=[OffsetForLeaderPartition(partition=partition, current_leader_epoch=-1, leader_epoch=0)]
            )
        ],
    )
    return {
        "produce": client.produce_batch("t", partition, batch_of([b"x"])).error_code,
        "fetch": client.fetch("t", partition).error_code,
        "list offsets": client.ask(offsets).topics[0].partitions[0].error_code,
        "delete records": client.ask(deletes).topics[0].partitions[0].error_code,
        "offset for leader epoch": client.ask(epochs).topics[0].partitions[0].error_code,
    }


def move_everything_on(node: RunningNode) -> None:
    """Gives every checkpoint something new to write."""
    for partition in node.node.broker.replicas:
        partition.log.advance_start(1)
        partition.log.flush()


def log_dirs(client: Client) -> dict[str, Any]:
    return {Path(each.log_dir).name: each for each in client.ask(DescribeLogDirsRequest(topics=None)).results}


def test_partitions_spread_over_the_directories_and_are_found_again(directories: list[Path]) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        client.create_topic("t", PARTITIONS)
        fill(client)
        assert [len(partitions_in(each)) for each in directories] == [2, 2]
        described = log_dirs(client)
        assert {name: sum(len(topic.partitions) for topic in each.topics) for name, each in described.items()} == {"first": 2, "second": 2}
        client.create_topic("u", 2)
        assert [len(partitions_in(each, "u")) for each in directories] == [1, 1]
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        for partition in range(PARTITIONS):
            assert client.values("t", partition) == numbers(3)


@pytest.mark.parametrize("operation", ["write", "open"])
def test_only_the_directory_that_cannot_be_written_is_given_up(
    directories: list[Path], capfd: pytest.CaptureFixture[str], operation: str
) -> None:
    disk = FailingDisk()
    with RunningNode(directories, disk=disk) as node, Client(node.bootstrap) as client:
        client.create_topic("t", PARTITIONS, {"segment.bytes": "1048576"})
        fill(client)
        good, bad = partitions_in(directories[0]), partitions_in(directories[1])
        disk.fail(directories[1], operation)
        if operation == "open":
            # Appends use open files; a segment that is full needs a new one.
            assert until(lambda: client.produce_batch("t", bad[0], batch_of([b"x" * 500_000])).error_code, "the roll fails") == OFFLINE
        for partition in bad:
            assert set(errors_of(client, partition).values()) == {OFFLINE}
        for partition in good:
            assert set(errors_of(client, partition).values()) == {0}
        described = log_dirs(client)
        assert (described["first"].error_code, described["second"].error_code) == (0, OFFLINE)
        assert described["second"].topics == []
        client.create_topic("u", 2)
        assert [len(partitions_in(each, "u")) for each in directories] == [2, 0]
        client.delete_topic("u")
    assert "log directory failed" in capfd.readouterr().err
    # With the disk repaired, everything that was acknowledged is there.
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        for partition in bad:
            assert client.values("t", partition)[:3] == numbers(3)
            assert set(errors_of(client, partition).values()) == {0}


def test_a_failed_flush_is_not_repeated_and_fails_the_directory(directories: list[Path], capfd: pytest.CaptureFixture[str]) -> None:
    """After a failed fsync the kernel marks the pages clean, so a second fsync would wrongly
    succeed."""
    disk = FailingDisk()
    with RunningNode(directories, disk=disk) as node, Client(node.bootstrap) as client:
        client.create_topic("t", PARTITIONS, {"segment.bytes": "1048576"})
        bad = partitions_in(directories[1])
        disk.fail(directories[1], "sync")
        # Sealed segments are flushed in the background; only then does the broker learn that the
        # disk is bad.
        until(lambda: client.produce_batch("t", bad[0], batch_of([b"x" * 500_000])).error_code == OFFLINE, "the flush fails")
        assert errors_of(client, bad[1])["fetch"] == OFFLINE
        client.produce("t", [b"fine"], partition=partitions_in(directories[0])[0])
    capfd.readouterr()


@pytest.mark.parametrize(
    "setting",
    [
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "replica.high.watermark.checkpoint.interval.ms",
    ],
)
def test_a_failed_checkpoint_fails_the_directory(directories: list[Path], capfd: pytest.CaptureFixture[str], setting: str) -> None:
    disk = FailingDisk()
    with RunningNode(directories, disk=disk, config={setting: "20"}) as node, Client(node.bootstrap) as client:
        client.create_topic("t", PARTITIONS)
        fill(client)
        bad = partitions_in(directories[1])
        for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"):
            disk.fail(directories[1] / name, "rename")
        node.call(lambda: move_everything_on(node))
        until(lambda: client.fetch("t", bad[0], 1).error_code == OFFLINE, "the checkpoint fails")
        client.produce("t", [b"fine"], partition=partitions_in(directories[0])[0])
    capfd.readouterr()


def test_a_fetch_that_waits_in_a_failing_directory_is_answered_with_the_error(
    directories: list[Path], capfd: pytest.CaptureFixture[str]
) -> None:
    disk = FailingDisk()
    with RunningNode(directories, disk=disk) as node, Client(node.bootstrap) as client, Client(node.bootstrap) as reader:
        client.create_topic("t", PARTITIONS)
        bad = partitions_in(directories[1])
        waits = fetch_request([("t", bad[0], 0)], min_bytes=1, max_wait_ms=600_000)
        reader.send(waits, FETCH_BY_NAME)
        disk.fail(directories[1], "write")
        assert client.produce_batch("t", bad[1], batch_of([b"x"])).error_code == OFFLINE
        assert reader.receive(waits, FETCH_BY_NAME)[1].responses[0].partitions[0].error_code == OFFLINE
    capfd.readouterr()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("operation", ["sync", "write"])
def test_without_its_metadata_log_a_node_halts_and_the_next_start_has_everything(
    directories: list[Path], capfd: pytest.CaptureFixture[str], count: int, operation: str
) -> None:
    """It may be the only directory, or one of two."""
    disk = FailingDisk()
    with RunningNode(directories[:count], disk=disk) as node, Client(node.bootstrap) as client:
        client.create_topic("t", PARTITIONS)
        fill(client)
        disk.fail(directories[0] / "__cluster_metadata-0", operation)
        client.send(MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True))
        until(node.halted.is_set, "the node halts")
        assert client.hung_up()
    assert "node halts" in capfd.readouterr().err
    with RunningNode(directories[:count]) as node, Client(node.bootstrap) as client:
        for partition in range(PARTITIONS):
            assert client.values("t", partition) == numbers(3)


def forbid_reading(disk: FailingDisk, directory: Path) -> None:
    disk.fail(directory, "read", "open")


def forbid_opening_a_partition(disk: FailingDisk, directory: Path) -> None:
    disk.fail(directory / f"t-{partitions_in(directory)[-1]}", "open")


@pytest.mark.parametrize("break_it", [forbid_reading, forbid_opening_a_partition])
def test_a_directory_that_is_gone_at_start_keeps_its_partitions(
    directories: list[Path], capfd: pytest.CaptureFixture[str], break_it: Callable[[FailingDisk, Path], None]
) -> None:
    """They are not created again, empty, in a directory that works: readers would take those for
    the partitions."""
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        client.create_topic("t", PARTITIONS)
        fill(client)
    good, bad = map(partitions_in, directories)
    disk = FailingDisk()
    break_it(disk, directories[1])
    with RunningNode(directories, disk=disk) as node, Client(node.bootstrap) as client:
        assert partitions_in(directories[0]) == good
        described = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False))
        leaders = {each.partition_index: each.leader_id for each in described.topics[0].partitions}
        for partition in good:
            assert leaders[partition] == 1
            assert client.values("t", partition) == numbers(3)
        for partition in bad:
            assert client.produce_batch("t", partition, batch_of([b"x"])).error_code != 0
            assert client.fetch("t", partition).error_code != 0
    assert "log directory failed" in capfd.readouterr().err
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        for partition in range(PARTITIONS):
            assert client.values("t", partition) == numbers(3)
            assert client.produce_batch("t", partition, batch_of([b"x"])).base_offset == 3


@pytest.mark.parametrize("operation", ["sync", "write", "rename"])
def test_a_metadata_log_that_cannot_be_written_refuses_the_start_in_one_sentence(
    directories: list[Path], capfd: pytest.CaptureFixture[str], operation: str
) -> None:
    with RunningNode(directories[:1]):
        pass
    disk = FailingDisk()
    disk.fail(directories[0] / "__cluster_metadata-0", operation)
    with pytest.raises(CannotStart, match="Input/output error"), RunningNode(directories[:1], disk=disk):
        pass
    capfd.readouterr()
    with RunningNode(directories[:1]) as node, Client(node.bootstrap) as client:
        client.probe()


def test_a_full_disk_fails_its_directory_which_recovers_after_a_restart_with_room(directories: list[Path]) -> None:
    """The kernel really refuses: a file may not grow past a limit, which looks like a full disk to
    ``write``."""
    config = {"log.dirs": ",".join(map(str, directories))}
    with EmbeddedBroker(process=True, data_dir=directories[0], config=config) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t", PARTITIONS)
            fill(client)
            good, bad = map(partitions_in, directories)
            _, hard = resource.prlimit(kafka.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(kafka.pid, resource.RLIMIT_FSIZE, (1 << 20, hard))
            accepted = 0
            while (answer := client.produce_batch("t", bad[0], batch_of([b"y" * 300_000]))).error_code == 0:
                accepted += 1
            assert (answer.error_code, accepted) == (OFFLINE, 3)
            client.produce("t", [b"fine"], partition=good[0])
            assert client.fetch("t", bad[1]).error_code == OFFLINE
        kafka.stop()
        kafka.start()
        with Client(kafka.bootstrap) as client:
            assert client.values("t", bad[0]) == [*numbers(3), *[b"y" * 300_000] * accepted]
            assert client.values("t", good[0]) == [*numbers(3), b"fine"]
            client.produce("t", [b"room again"], partition=bad[0])
