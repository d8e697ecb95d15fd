"""A topic is deleted at once for clients and later on the disk; a response in flight is completed,
and files that cannot be removed are kept.
"""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.scenarios.client import FETCH_BY_NAME, Client, batch_of, fetch_request, records_in
from tests.scenarios.running import FailingDisk, RunningNode
from tests.waiting import until


def delete_records(client: Client, topic: str, offset: int) -> None:
    deletes = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    answer = client.ask(DeleteRecordsRequest(topics=[deletes], timeout_ms=1000))
    assert answer.topics[0].partitions[0].error_code == 0


def write_starts(node: RunningNode) -> None:
    """Writes the checkpoint as happens once a minute."""
    for directory in node.node.broker.replicas.directories:
        write = directory.start_offset_checkpoint()
        assert write is not None
        write()


def test_a_topic_created_again_does_not_begin_at_the_start_of_the_deleted_one(tmp_path: Path) -> None:
    """Checkpoints name partitions by topic and number. After a crash, the entry of the deleted
    topic would truncate the new one."""
    data, image = tmp_path / "data", tmp_path / "as after kill -9"
    with RunningNode([data]) as node, Client(node.bootstrap) as client:
        client.create_topic("t")
        for _ in range(5):
            client.produce("t", [b"old"])
        delete_records(client, "t", 4)
        node.call(lambda: write_starts(node))
        assert "t 0 4" in (data / "log-start-offset-checkpoint").read_text()
        client.delete_topic("t")
        client.create_topic("t")
        client.produce("t", [b"new"])
        shutil.copytree(data, image, ignore=shutil.ignore_patterns(".lock"))
    with RunningNode([image]) as node, Client(node.bootstrap) as client:
        assert client.values("t") == [b"new"]


def test_a_response_in_flight_contains_all_of_the_deleted_topic(tmp_path: Path) -> None:
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        client.create_topic("t", 1, {"file.delete.delay.ms": "0"})
        sent = [b"%d " % number + b"x" * 900_000 for number in range(20)]
        for value in sent:
            client.produce("t", [value])
        request = fetch_request([("t", 0, 0)], partition_max_bytes=50_000_000, max_bytes=50_000_000)
        with Client(node.bootstrap, receive_buffer_bytes=4096) as reader:
            reader.send(request, FETCH_BY_NAME)
            assert reader.socket.recv(1, socket.MSG_PEEK), "the answer has begun"
            client.delete_topic("t")
            until(lambda: not list(tmp_path.glob("t-0*")), "its files are removed")
            answer = reader.receive(request, FETCH_BY_NAME)[1].responses[0].partitions[0]
            assert [each.value for each in records_in(answer.records)] == sent
        assert client.fetch("t").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_deleted_replica_in_a_failed_directory_becomes_a_stray(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directories = [tmp_path / "first", tmp_path / "second"]
    disk = FailingDisk()
    with RunningNode(directories, disk=disk) as node, Client(node.bootstrap) as client:
        client.create_topic("t", 2)
        away = next(number for number in range(2) if (directories[1] / f"t-{number}").exists())
        for partition in range(2):
            client.produce("t", [b"old"], partition=partition)
        disk.fail(directories[1], "write")
        assert client.produce_batch("t", away, batch_of([b"x"])).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        client.delete_topic("t")
        client.create_topic("t", 2)
        for partition in range(2):
            client.produce("t", [b"new"], partition=partition)
        assert (directories[1] / f"t-{away}").exists()
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        for partition in range(2):
            assert client.values("t", partition) == [b"new"]
        (stray,) = directories[1].glob("*-stray")
        assert b"old" in next(stray.glob("*.log")).read_bytes()
        assert [each.strays for each in node.node.broker.replicas.directories] == [0, 1]
    capfd.readouterr()
