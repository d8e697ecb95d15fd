"""A disk that is full, and one that became read-only, for real: on small file systems in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.devcluster.development import development_properties
from barnabas.model.cannot_start import CannotStart
from barnabas.model.errors import ErrorCode
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.scenarios.client import Client, batch_of
from tests.scenarios.mounts import Ballast, read_only, resize, small_disk
from tests.scenarios.running import RunningNode
from tests.waiting import until

NO_ROOM = ErrorCode.KAFKA_STORAGE_ERROR
VALUE = b"x" * 20_000


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    return [tmp_path / "first", tmp_path / "second"]


@pytest.fixture
def small(directories: list[Path]) -> Iterator[Path]:
    """The second directory, on a file system of four megabytes."""
    with small_disk(directories[1], 4096):
        yield directories[1]


def in_small(small: Path) -> int:
    """The partition in that directory."""
    return next(int(each.name.rpartition("-")[2]) for each in small.glob("t-*"))


def fill_up(client: Client, partition: int) -> int:
    """Produces until the broker reports that there is no room; returns how many records it took."""
    taken = 0
    while True:
        code = client.produce_batch("t", partition, batch_of([b"%d " % taken + VALUE])).error_code
        if code:
            assert code == NO_ROOM
            return taken
        taken += 1


def creation(name: str, *, partitions: int) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
    return CreateTopicsRequest(topics=[topic], timeout_ms=60_000)


def numbers(client: Client, partition: int) -> list[int]:
    return [int((value or b"").partition(b" ")[0]) for value in client.values("t", partition)]


def test_a_full_directory_serves_reads_refuses_writes_and_recovers_when_there_is_room(
    directories: list[Path], small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        client.create_topic("t", 2, {"segment.bytes": "1048576"})
        full = in_small(small)
        taken = fill_up(client, full)
        assert taken > 50
        refused = client.produce_batch("t", full, batch_of([VALUE]))
        assert (refused.error_code, refused.error_message) == (NO_ROOM, "the partition's log directory is full")
        # The broker serves the records that it has, and the other directory is not affected.
        assert numbers(client, full) == list(range(taken))
        client.produce("t", [b"fine"], partition=1 - full)
        assert {each.error_code for each in client.ask(DescribeLogDirsRequest(topics=None)).results} == {0}
        # A small batch may still fit; each one must be either stored or refused.
        resize(small, 8192)
        more = taken
        while more < taken + 20:
            assert client.produce_batch("t", full, batch_of([b"%d " % more + VALUE])).error_code == 0
            more += 1
        assert numbers(client, full) == list(range(more))
    assert "log directory is full" in capfd.readouterr().err
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        assert numbers(client, full) == list(range(more))


def test_a_node_that_is_stopped_while_a_directory_is_full_finds_everything(
    directories: list[Path], small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        client.create_topic("t", 2, {"segment.bytes": "1048576"})
        full = in_small(small)
        taken = fill_up(client, full)
        Ballast(small).fill()
    Ballast(small).drop()
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        assert numbers(client, full) == list(range(taken))
        client.produce("t", [b"fine"], partition=1 - full)
    capfd.readouterr()


def test_new_partitions_go_where_there_is_room(directories: list[Path], small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        Ballast(small).fill()
        assert client.ask(creation("t", partitions=2)).topics[0].error_code == 0
        for partition in range(2):
            until(lambda partition=partition: taken(client, partition), "it is led")  # type: ignore[misc]
        assert sorted(each.name for each in directories[0].glob("t-*")) == ["t-0", "t-1"]
        assert not list(small.glob("t-*"))
    capfd.readouterr()


def test_a_partition_that_fits_in_no_directory_is_created_when_there_is_room(
    directories: list[Path], small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        # All new partitions have to go to the small directory.
        client.alter_configs(4, "1", {"cordoned.log.dirs": str(directories[0])})
        Ballast(small).fill()
        assert client.ask(creation("t", partitions=1)).topics[0].error_code == 0
        assert not list(small.glob("t-*"))
        Ballast(small).drop()
        until(lambda: taken(client, 0), "it is led")
        assert (small / "t-0").exists()
    capfd.readouterr()


def taken(client: Client, partition: int) -> bool:
    return client.produce_batch("t", partition, batch_of([b"0 "])).error_code == 0


def test_a_node_whose_only_disk_is_full_waits_for_room(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The metadata log is on that disk too."""
    only = tmp_path / "only"
    with small_disk(only, 8192):
        with RunningNode([only]) as node, Client(node.bootstrap) as client:
            client.create_topic("t", 1, {"segment.bytes": "1048576"})
            taken = fill_up(client, 0)
            Ballast(only).fill()
            request = creation("u", partitions=1)
            client.send(request)
            assert numbers_over(node, "t") == list(range(taken)), "it serves meanwhile"
            assert not node.halted.is_set()
            resize(only, 16_384)
            assert client.receive(request)[1].topics[0].error_code in (0, ErrorCode.REQUEST_TIMED_OUT)
            client.produce("t", [b"%d " % taken])
            until(lambda: client.produce_batch("u", 0, batch_of([b"0 "])).error_code == 0, "the topic is made")
        with RunningNode([only]) as node, Client(node.bootstrap) as client:
            assert numbers(client, 0) == list(range(taken + 1))
    capfd.readouterr()


def numbers_over(node: RunningNode, topic: str) -> list[int]:
    with Client(node.bootstrap) as client:
        return [int((value or b"").partition(b" ")[0]) for value in client.values(topic)]


def test_only_the_directory_that_becomes_read_only_is_given_up(
    directories: list[Path], small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        client.create_topic("t", 2, {"segment.bytes": "1048576"})
        lost = in_small(small)
        client.produce("t", [b"0 "], partition=lost)
        with read_only(small):
            # Open files can still be written, but the next segment cannot be created.
            until(lambda: client.produce_batch("t", lost, batch_of([VALUE * 20])).error_code == NO_ROOM, "no segment can be made")
            assert NO_ROOM in [each.error_code for each in client.ask(DescribeLogDirsRequest(topics=None)).results]
            assert client.fetch("t", lost).error_code == NO_ROOM
            client.produce("t", [b"fine"], partition=1 - lost)
    # The directory is still read-only at the next start, and the others are served.
    with read_only(small), RunningNode(directories) as node, Client(node.bootstrap) as client:
        assert client.values("t", 1 - lost) == [b"fine"]
        assert client.fetch("t", lost).error_code != 0
        assert NO_ROOM in [each.error_code for each in client.ask(DescribeLogDirsRequest(topics=None)).results]
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        assert client.values("t", lost)[:1] == [b"0 "]
    capfd.readouterr()


def test_a_node_with_only_a_read_only_directory_reports_it(tmp_path: Path) -> None:
    only = tmp_path / "only"
    with small_disk(only, 8192):
        with RunningNode([only]):
            pass
        with read_only(only), pytest.raises(CannotStart, match="Read-only"), RunningNode([only]):
            pass


def test_a_node_that_starts_on_a_full_disk_names_the_file(tmp_path: Path) -> None:
    only = tmp_path / "only"
    with small_disk(only, 2048):
        data = only / "data"
        ballast = Ballast(only)
        ballast.fill()
        with pytest.raises(CannotStart) as refused, RunningNode([data]):
            pass
        assert str(refused.value) == f"cannot format {data}: {data}/bootstrap.checkpoint.tmp: No space left on device."
        ballast.drop()
        ensure_formatted(parse_settings(development_properties(data_dir=str(data))))
        ballast.fill()
        with pytest.raises(CannotStart) as refused, RunningNode([data]):
            pass
        assert str(refused.value).startswith(f"cannot start with {data}: {data}/__cluster_metadata-0/")
        assert str(refused.value).endswith(": No space left on device.")
        ballast.drop()
        with RunningNode([data]) as node, Client(node.bootstrap) as client:
            client.create_topic("t")
