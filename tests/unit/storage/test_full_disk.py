"""A log on a full disk: it stays unchanged, and accepts appends again when there is room."""

from __future__ import annotations

import errno
from random import Random

import pytest

from barnabas.env.disk import SyncFailed, out_of_room
from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import Operation, SimulatedDisk
from barnabas.storage.log import Appended, Log
from tests.unit.storage.logs import (
    DIRECTORY,
    SMALL,
    all_batches,
    append,
    data,
    fill,
    marker,
    new_disk,
    numbered,
    offer,
    open_partition,
    sent,
    values,
)

# The operations that need room. Truncating, syncing and removing do not.
GROWING = (Operation.CREATE, Operation.WRITE, Operation.MAKE_DIRECTORY)


def full(disk: SimulatedDisk, *, path_part: str = "", after: int = 0, times: int | None = None) -> None:
    disk.fail_with(errno.ENOSPC, GROWING, path_part=path_part, after=after, times=times)


def filled(batches: int) -> tuple[SimulatedDisk, Log]:
    disk = new_disk()
    log = open_partition(disk)
    fill(log, batches)
    return disk, log


def refused(log: Log) -> OSError:
    with pytest.raises(OSError, match="No space left") as failed:
        append(log)
    return failed.value


def reopened(disk: SimulatedDisk) -> list[bytes | None]:
    return values(open_partition(disk.kill()))


def test_a_partly_written_batch_is_truncated_and_the_next_takes_its_place() -> None:
    disk, log = filled(5)
    size_bytes = log.segments.active.file.size_bytes()
    full(disk, path_part=".log")
    batch = data(1)
    before = bytes(batch)
    with pytest.raises(OSError, match="No space left") as failed:
        offer(log, batch)
    assert out_of_room(failed.value)
    assert bytes(batch) == before, "the producer may retry, also through another path of the broker"
    assert log.log_end_offset == 5
    assert log.segments.active.file.size_bytes() == size_bytes
    disk.stop_failing()
    fill(log, 3)
    assert values(log) == reopened(disk) == [numbered(n) for n in range(8)]


@pytest.mark.parametrize("after", range(4))
def test_a_roll_without_room_is_made_later(after: int) -> None:
    """Ten batches fill a segment; the snapshot, the new log or one of its indexes fails."""
    disk, log = filled(10)
    full(disk, after=after)
    while log.log_end_offset < 12:
        try:
            append(log)
        except OSError:
            break
    end = log.log_end_offset
    refused(log)
    assert [name for name in disk.names(DIRECTORY) if name.endswith(".log")][: len(list(log.segments))] == [
        segment.file.path.rpartition("/")[2] for segment in log.segments
    ]
    disk.stop_failing()
    fill(log, 15)
    assert log.log_end_offset == end + 15
    assert len(values(log)) == end + 15
    assert values(log) == reopened(disk)


def test_index_entries_wait_for_room_and_block_the_recovery_point() -> None:
    disk, log = filled(5)
    full(disk, path_part="index")
    fill(log, 4)
    log.flush()
    assert log.recovery_point == 0
    assert values(open_partition(disk.crash()))[:9] == [numbered(n) for n in range(9)], "the batches are durable nevertheless"
    disk.stop_failing()
    log.flush()
    assert log.recovery_point == 9


def test_an_abort_without_room_is_visible_to_readers_and_written_later() -> None:
    disk, log = filled(1)
    append(log, sent(7, 0, transactional=True))
    full(disk, path_part=".txnindex")
    append(log, marker(7, ControlType.ABORT))
    assert [each.producer_id for each in log.aborted_transactions(0, 10)] == [7]
    log.flush()
    assert log.recovery_point == 0
    disk.stop_failing()
    log.flush()
    assert log.recovery_point == log.log_end_offset
    found = open_partition(disk.crash(), recovery_point=log.recovery_point)
    assert [each.producer_id for each in found.aborted_transactions(0, 10)] == [7]


def test_a_batch_is_refused_when_its_new_epoch_cannot_be_written() -> None:
    disk, log = filled(3)
    full(disk, path_part="leader-epoch")
    with pytest.raises(OSError, match="No space left"):
        append(log, leader_epoch=4)
    assert log.log_end_offset == 3
    disk.stop_failing()
    append(log, leader_epoch=4)
    assert [each.epoch for each in open_partition(disk.kill()).leader_epochs.entries] == [0, 4]


def test_a_sync_on_a_full_disk_is_a_failed_sync() -> None:
    disk, log = filled(3)
    disk.fail_with(errno.ENOSPC, [Operation.SYNC])
    with pytest.raises(SyncFailed) as failed:
        log.flush()
    assert not out_of_room(failed.value)


@pytest.mark.parametrize("seed", range(30))
def test_a_full_disk_at_any_operation_keeps_exactly_the_accepted_records(seed: int) -> None:
    chance = Random(seed)
    disk = new_disk(seed)
    log = open_partition(disk, SMALL)
    taken: list[bytes] = []
    flushed = 0
    for step in range(120):
        if chance.random() < 0.2:
            disk.stop_failing()
            if chance.random() < 0.6:
                full(disk, after=chance.randrange(4), path_part=chance.choice(["", ".log", "index", "snapshot", "epoch"]))
        try:
            outcome = offer(log, data(1, value=b"%d" % step), leader_epoch=step // 40)
        except OSError as error:
            assert out_of_room(error)  # noqa: PT017
            continue
        assert isinstance(outcome, Appended)
        taken.append(all_batches(log, start=outcome.base_offset)[0])
        if chance.random() < 0.1:
            log.flush()
            flushed = len(taken)
    assert all_batches(log) == taken
    disk.stop_failing()
    assert all_batches(open_partition(disk.kill(), SMALL, recovery_point=log.recovery_point)) == taken
    left = all_batches(open_partition(disk.crash(), SMALL, recovery_point=log.recovery_point))
    assert left == taken[: len(left)]
    assert len(left) >= flushed
