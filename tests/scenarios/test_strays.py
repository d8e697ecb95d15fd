"""Partitions on disk that belong to no topic are renamed and kept: missing metadata must never
delete data.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from barnabas.model.ids import Uuid, uuid_text
from tests.scenarios.client import Client
from tests.scenarios.running import RunningNode


def strays(directory: Path) -> list[Path]:
    return sorted(directory.glob("*-stray"))


def test_a_partition_of_no_topic_is_renamed_with_all_its_files(tmp_path: Path) -> None:
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"mine"])
    shutil.copytree(tmp_path / "t-0", tmp_path / "unknown-7")
    before = {each.name: each.read_bytes() for each in (tmp_path / "unknown-7").glob("*.log")}
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        assert client.values("t") == [b"mine"]
        client.create_topic("unknown")
    (stray,) = strays(tmp_path)
    assert stray.name.startswith("unknown-7.")
    assert {each.name: each.read_bytes() for each in stray.glob("*.log")} == before
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        assert client.values("t") == [b"mine"]
    assert strays(tmp_path) == [stray]


def test_a_partition_of_another_topic_with_the_same_name_is_renamed(tmp_path: Path) -> None:
    """Its topic was deleted and created again while this log was elsewhere, for example on a disk
    that was unplugged."""
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"of the other"])
    other = Uuid(b"\x01" * 16)
    (tmp_path / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(other)}")
    for _ in range(2):
        with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
            assert client.values("t") == []
    (stray,) = strays(tmp_path)
    assert b"of the other" in next(stray.glob("*.log")).read_bytes()


def test_a_log_without_partition_metadata_belongs_to_the_topic_of_its_name(tmp_path: Path) -> None:
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"x"])
    (tmp_path / "t-0" / "partition.metadata").unlink()
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        assert client.values("t") == [b"x"]
    assert strays(tmp_path) == []


def test_other_files_and_directories_are_left_alone(tmp_path: Path) -> None:
    with RunningNode([tmp_path]):
        pass
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "notes-1").write_text("a file, though it is called like a partition")
    (tmp_path / "old-3.0123456789abcdef0123456789abcdef-stray").mkdir()
    with RunningNode([tmp_path]) as node, Client(node.bootstrap) as client:
        client.probe()
    assert {"lost+found", "notes-1", "old-3.0123456789abcdef0123456789abcdef-stray"} <= {each.name for each in tmp_path.iterdir()}
