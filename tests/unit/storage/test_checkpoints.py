"""Checkpoint files: Kafka's text, replaced whole."""

from __future__ import annotations

import pytest

from barnabas.model.ids import TopicPartition
from barnabas.storage.checkpoints import CheckpointDamaged, read_lines, read_offsets, write_offsets
from tests.unit.storage.logs import new_disk, write_file

PATH = "/data/topic-0/recovery-point-offset-checkpoint"
NAME = "recovery-point-offset-checkpoint"
OFFSETS = {TopicPartition("orders", 0): 17, TopicPartition("a-b.c_d", 11): 2**62}


def test_offsets_are_read_as_they_were_written() -> None:
    disk = new_disk()
    write_offsets(disk, PATH, OFFSETS)
    assert read_offsets(disk, PATH) == OFFSETS
    assert disk.read(PATH) == b"0\n2\norders 0 17\na-b.c_d 11 4611686018427387904\n"


def test_a_missing_file_means_no_offsets() -> None:
    assert read_offsets(new_disk(), PATH) == {}


def test_an_empty_file_means_no_offsets() -> None:
    disk = new_disk()
    write_file(disk, NAME, b"")
    assert read_offsets(disk, PATH) == {}


def test_an_empty_checkpoint_is_written() -> None:
    disk = new_disk()
    write_offsets(disk, PATH, {})
    assert disk.read(PATH) == b"0\n0\n"
    assert read_offsets(disk, PATH) == {}


def test_the_file_is_replaced_and_nothing_is_left_beside_it() -> None:
    disk = new_disk()
    write_offsets(disk, PATH, OFFSETS)
    write_offsets(disk, PATH, {TopicPartition("orders", 0): 18})
    assert read_offsets(disk, PATH) == {TopicPartition("orders", 0): 18}
    assert disk.names("/data/topic-0") == [NAME]


@pytest.mark.parametrize(
    "content",
    [
        b"0",
        b"0\n",
        b"1\n0\n",
        b"x\n0\n",
        b"0\n-1\n",
        b"0\nmany\n",
        b"0\n\xb2\n",
        "0\n²\n".encode(),
        b"0\n1\n",
        b"0\n1\norders 0 17\norders 1 18\n",
        b"0\n1\norders 0\n",
        b"0\n1\norders 0 17 18\n",
        b"0\n1\norders zero 17\n",
        b"0\n1\norders 0 --7\n",
        b"0\n1\norders 0 -\n",
        b"\x00" * 20,
        b"\xff\xfe\n\x00",
    ],
)
def test_a_damaged_checkpoint_raises(content: bytes) -> None:
    disk = new_disk()
    write_file(disk, NAME, content)
    with pytest.raises(CheckpointDamaged, match=NAME):
        read_offsets(disk, PATH)


def test_lines_may_end_without_a_newline() -> None:
    disk = new_disk()
    write_file(disk, NAME, b"0\n1\norders 0 17")
    assert read_lines(disk, PATH) == ["orders 0 17"]
