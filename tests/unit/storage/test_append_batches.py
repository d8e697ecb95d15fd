"""Several batches in one write: the log and its files are what they would be if the batches had
come one by one.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from barnabas.records.batch_header import read_header
from barnabas.records.validation import Accepted, Refused
from barnabas.simulation.disk import Operation, SimulatedDisk
from barnabas.storage.log import WRITTEN_TOGETHER_BYTES_MAX, Appended, Log
from barnabas.storage.log_settings import LogSettings
from tests.unit.storage.logs import BATCH_BYTES, DIRECTORY, NOW_MS, all_batches, append, data, fill, new_disk, offer, open_partition, sent

SETTINGS = LogSettings(segment_bytes=20 * BATCH_BYTES, index_interval_bytes=2 * BATCH_BYTES)
LEADER_EPOCH = 3


def together(log: Log, batches: list[bytearray]) -> Sequence[Appended | Refused]:
    valid = [Accepted(memoryview(batch), read_header(batch), -1) for batch in batches]
    return log.append_batches(valid, LEADER_EPOCH, NOW_MS)


def all_of(log: Log, batches: list[bytearray]) -> list[Appended | Refused]:
    """As callers do it: again with the rest, until every batch has its outcome."""
    outcomes: list[Appended | Refused] = []
    while len(outcomes) < len(batches):
        outcomes += together(log, batches[len(outcomes) :])
    return outcomes


def files(disk: SimulatedDisk, log: Log) -> dict[str, bytes]:
    log.close()
    return {name: disk.read(f"{DIRECTORY}/{name}") for name in disk.names(DIRECTORY)}


def mixed() -> list[bytearray]:
    """Producers with and without sequences, and timestamps that go up and down."""
    return [
        data(timestamp=NOW_MS + 5),
        sent(7, 0, count=3),
        data(2, timestamp=NOW_MS + 9),
        data(timestamp=NOW_MS - 100),
        sent(8, 0),
        data(timestamp=NOW_MS + 9),
    ]


def test_files_and_producers_are_as_if_they_had_come_one_by_one() -> None:
    disk, other_disk = new_disk(), new_disk()
    log, other = open_partition(disk, SETTINGS), open_partition(other_disk, SETTINGS)
    for each in (log, other):
        fill(each, 3)
    outcomes = together(log, mixed())
    assert outcomes == [append(other, batch, leader_epoch=LEADER_EPOCH) for batch in mixed()]
    assert log.log_end_offset == other.log_end_offset
    assert list(log.producers) == list(other.producers)
    assert all_batches(log) == all_batches(other)
    assert files(disk, log) == files(other_disk, other)


def test_batches_are_patched_in_the_callers_memory() -> None:
    log = open_partition(new_disk(), SETTINGS)
    batches = mixed()
    together(log, batches)
    assert all_batches(log) == [bytes(batch) for batch in batches]


@pytest.mark.parametrize(
    ("batches", "written"),
    [
        pytest.param([data() for _ in range(18)], 1, id="a segment would end among them"),
        pytest.param([sent(7, 0), data(), sent(7, 1)], 2, id="a producer comes twice"),
        pytest.param([data(), sent(5, 0)], 1, id="a batch that the log has already"),
        pytest.param([data(), sent(5, 9)], 1, id="a gap in the sequence"),
        pytest.param([data(), data(value=bytes(WRITTEN_TOGETHER_BYTES_MAX))], 1, id="a batch that fits no segment"),
    ],
)
def test_batches_that_cannot_share_a_write_wait_for_the_next_call(batches: list[bytearray], written: int) -> None:
    disk, other_disk = new_disk(), new_disk()
    log, other = open_partition(disk, SETTINGS), open_partition(other_disk, SETTINGS)
    for each in (log, other):
        fill(each, 3)
        append(each, sent(5, 0))
    alone = [offer(other, bytearray(batch), leader_epoch=LEADER_EPOCH) for batch in batches]
    before = [bytes(batch) for batch in batches]
    assert together(log, batches) == alone[:written]
    assert [bytes(batch) for batch in batches[written:]] == before[written:]
    assert [*alone[:written], *all_of(log, batches[written:])] == alone
    assert files(disk, log) == files(other_disk, other)


def test_indexes_that_fill_up_among_them_end_where_they_do_one_by_one() -> None:
    settings = LogSettings(index_interval_bytes=1, index_bytes_max=8 * 12)
    disk, other_disk = new_disk(), new_disk()
    log, other = open_partition(disk, settings), open_partition(other_disk, settings)
    for _ in range(6):
        all_of(log, [data() for _ in range(3)])
        for _ in range(3):
            append(other, data(), leader_epoch=LEADER_EPOCH)
    assert len(other.segments) > 1
    assert files(disk, log) == files(other_disk, other)


def test_on_a_disk_that_is_full_log_and_batches_are_as_they_were() -> None:
    disk = new_disk()
    log = open_partition(disk, SETTINGS)
    fill(log, 3)
    together(log, [data()])  # writes the epoch's own file
    disk.fail_with(errno.ENOSPC, (Operation.WRITE,), path_part=".log", times=1)
    batches = mixed()
    before = [bytes(batch) for batch in batches]
    with pytest.raises(OSError, match="No space left"):
        together(log, batches)
    assert [bytes(batch) for batch in batches] == before
    assert (log.log_end_offset, len(log.producers)) == (4, 0)
    outcomes = together(log, batches)
    assert isinstance(outcomes[0], Appended)
    assert outcomes[0].base_offset == 4
    assert all_batches(log)[4:] == [bytes(batch) for batch in batches]
