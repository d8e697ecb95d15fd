"""No checksum covers offset and leader epoch in a batch's header. A flipped bit in them is found by
the batches that follow.
"""

from __future__ import annotations

from random import Random

from barnabas.model.ids import TopicPartition
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.record import Record
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.recovery import open_log

DIRECTORY = "/d/t-0"
SEGMENT = f"{DIRECTORY}/00000000000000000000.log"
# In the low 32 bits of a base offset, which is big-endian: the byte of 2**24, and in it the bit of
# 2**28.
OFFSET_BYTE, HIGH_BIT = 4, 4
# In a leader epoch, the byte of 2**16.
EPOCH_BYTE = 13


def opened(disk: SimulatedDisk) -> Log:
    log, _ = open_log(disk, DIRECTORY, TopicPartition("t", 0), LogSettings(), clean=False, recovery_point=0, log_start_offset=0, now_ms=0)
    return log


def with_three_batches() -> tuple[SimulatedDisk, list[int]]:
    """A log, and the position of each batch."""
    disk = SimulatedDisk(Random(0))
    disk.make_directory(DIRECTORY)
    log, positions = opened(disk), []
    for number in range(3):
        positions.append(log.size_bytes())
        batch = memoryview(build_batch([Record(0, 1, None, b"%d" % number), Record(1, 1, None, b"-")]))
        assert isinstance(log.append(batch, read_header(batch), 0, 0), Appended)
    log.flush()
    return disk, positions


def test_a_batch_with_an_offset_that_the_next_contradicts_is_truncated() -> None:
    disk, positions = with_three_batches()
    disk.flip_bit(SEGMENT, positions[1] + OFFSET_BYTE, HIGH_BIT)
    log = opened(disk)
    assert log.log_end_offset == 2
    assert [header.base_offset for header, _ in log.batches(0, 10)] == [0]


def test_a_batch_with_an_epoch_that_the_next_contradicts_is_truncated() -> None:
    disk, positions = with_three_batches()
    disk.flip_bit(SEGMENT, positions[1] + EPOCH_BYTE, 3)
    log = opened(disk)
    assert log.log_end_offset == 2
    assert log.leader_epochs.latest == 0


def test_truncating_below_a_last_batch_with_a_corrupt_offset_removes_it() -> None:
    disk, positions = with_three_batches()
    disk.flip_bit(SEGMENT, positions[2] + OFFSET_BYTE, HIGH_BIT)
    log = opened(disk)
    assert log.log_end_offset == 2**28 + 6
    log.truncate_to(6)  # as the leader would ask
    assert log.log_end_offset == 4


def test_a_gap_without_contradiction_stays() -> None:
    disk, _ = with_three_batches()
    log = opened(disk)
    batch = memoryview(build_batch([Record(20, 1, None, b"far")], base_offset=20, leader_epoch=0))
    log.append_as_follower(batch, read_header(batch), 0)
    more = memoryview(build_batch([Record(21, 1, None, b"next")], base_offset=21, leader_epoch=0))
    log.append_as_follower(more, read_header(more), 0)
    log.flush()
    assert [header.base_offset for header, _ in opened(disk).batches(0, 30)] == [0, 2, 4, 20, 21]
