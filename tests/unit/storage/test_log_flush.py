"""Which records are durable: the recovery point, and flushes on other threads."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import Operation, SimulatedDisk
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from tests.unit.storage.logs import (
    DIRECTORY,
    NOW_MS,
    SMALL,
    append,
    fill,
    marker,
    new_disk,
    numbered,
    open_partition,
    sent,
    values,
)


def filled(batches: int = 25, settings: LogSettings = SMALL) -> tuple[SimulatedDisk, Log]:
    disk = new_disk()
    log = open_partition(disk, settings)
    fill(log, batches)
    return disk, log


def test_nothing_is_durable_before_a_flush_and_everything_after() -> None:
    disk, log = filled()
    assert log.recovery_point == 0
    log.flush()
    assert log.recovery_point == 25
    for _ in range(20):
        assert values(open_partition(disk.crash(), recovery_point=25)) == [numbered(n) for n in range(25)]


def test_only_segments_with_unflushed_data_are_flushed() -> None:
    _, log = filled(12)
    offset, segments = log.flushing.begin(log.log_end_offset)
    assert (offset, [segment.base_offset for segment in segments]) == (12, [0, 10])
    log.flush()
    assert log.flushing.begin(log.log_end_offset) == (12, [])
    fill(log, 1)
    assert [segment.base_offset for segment in log.flushing.begin(log.log_end_offset)[1]] == [10]


def test_a_flush_on_another_thread_counts_once_it_is_reported() -> None:
    _, log = filled(12)
    offset, segments = log.flushing.begin(log.log_end_offset)
    fill(log, 5)
    for segment in segments:
        segment.sync()
    assert log.recovery_point == 0
    log.flushing.end(offset)
    assert log.recovery_point == 12


def test_waiting_entries_are_written_before_the_other_thread_syncs() -> None:
    disk, log = filled(9)
    assert disk.size_bytes(f"{DIRECTORY}/{0:020d}.index") == 8, "the placeholder alone"
    log.flushing.begin(log.log_end_offset)
    assert disk.size_bytes(f"{DIRECTORY}/{0:020d}.index") == 2 * 8


def test_a_flush_does_not_cover_records_appended_after_a_truncation() -> None:
    _, log = filled(9)
    offset, segments = log.flushing.begin(log.log_end_offset)
    log.truncate_to(4)
    fill(log, 9)
    for segment in segments:
        segment.sync()
    log.flushing.end(offset)
    assert log.recovery_point == 4


def test_a_flush_does_not_cover_a_segment_sealed_meanwhile() -> None:
    """Sealing writes to the time index; if the flush has already synced that file, a power cut may
    leave half an entry.
    """
    _, log = filled(9)
    offset, segments = log.flushing.begin(log.log_end_offset)
    log.roll(now_ms=NOW_MS)
    for segment in segments:
        segment.sync()
    log.flushing.end(offset)
    assert log.recovery_point < 9
    assert [segment.base_offset for segment in log.flushing.begin(log.log_end_offset)[1]] == [0, 9]


def test_a_roll_right_after_a_flush_leaves_nothing_unsynced_behind() -> None:
    disk, log = filled(9)
    log.flush()
    log.roll(now_ms=NOW_MS)
    for _ in range(30):
        after = open_partition(disk.crash(), recovery_point=9)
        assert after.segments.first.max_timestamp == NOW_MS + 8
        assert after.segments.first.time_index.last() == (NOW_MS + 8, 8)


def test_an_old_flush_report_never_lowers_the_recovery_point() -> None:
    _, log = filled(12)
    log.flush()
    log.flushing.end(3)
    assert log.recovery_point == 12


def test_flush_messages_flushes_after_that_many_records() -> None:
    _, log = filled(7, replace(SMALL, flush_messages=3))
    assert log.recovery_point == 6
    fill(log, 2)
    assert log.recovery_point == 9


def test_with_a_flush_for_every_record_nothing_is_ever_lost() -> None:
    disk, log = filled(23, replace(SMALL, flush_messages=1))
    assert log.recovery_point == 23
    for _ in range(20):
        assert len(values(open_partition(disk.crash(), recovery_point=23))) == 23


def test_a_flushed_abort_is_found_after_a_power_cut_although_its_index_is_a_new_file() -> None:
    disk = new_disk()
    log = open_partition(disk)
    append(log, sent(1, 0, transactional=True))
    append(log, marker(1, ControlType.ABORT))
    log.flush()
    fill(log, 20)
    log.flush()
    for _ in range(30):
        after = open_partition(disk.crash(), recovery_point=22)
        assert after.aborted_transactions(0, 2) == [(1, 0, 1, 2)]


@pytest.mark.parametrize("flushed_before", [False, True])
def test_a_clean_close_leaves_everything_durable_and_complete(flushed_before: bool) -> None:
    disk, log = filled(15)
    if flushed_before:
        log.flush()
    log.close()
    for after in (disk, *(disk.crash() for _ in range(20))):
        assert after.size_bytes(f"{DIRECTORY}/{10:020d}.timeindex") == 2 * 12
        assert after.exists(f"{DIRECTORY}/{15:020d}.snapshot")
        again = open_partition(after, clean=True)
        assert values(again) == [numbered(n) for n in range(15)]
        assert again.recovery_point == 15


def test_an_empty_log_closes_and_opens() -> None:
    disk = new_disk()
    open_partition(disk).close()
    assert [name for name in disk.names(DIRECTORY) if name.endswith(".snapshot")] == []
    assert values(open_partition(disk, clean=True)) == []


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
def test_a_failed_sync_raises_and_keeps_the_recovery_point(suffix: str) -> None:
    disk, log = filled(5)
    disk.fail_with(errno.EIO, [Operation.SYNC], path_part=suffix, times=1)
    with pytest.raises(OSError, match="Input/output error"):
        log.flush()
    assert log.recovery_point == 0


def test_a_full_disk_raises_and_earlier_records_stay_readable() -> None:
    disk, log = filled(5)
    disk.fail_with(errno.ENOSPC, [Operation.WRITE], path_part=".log")
    with pytest.raises(OSError, match="No space left"):
        append(log)
    assert log.log_end_offset == 5
    assert values(open_partition(disk.kill())) == [numbered(n) for n in range(5)]
