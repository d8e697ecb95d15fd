"""A log drops its oldest segments: their names at once, their bytes later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.env.real_disk import RealDisk
from barnabas.storage.log import Log, OffsetIsRemote, OffsetOutOfRange
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.producer_snapshot import list_snapshots
from tests.unit.storage.logs import NOW_MS, PARTITION, append, data, new_disk, offsets, open_partition, open_reporting, sent

SETTINGS = LogSettings(segment_bytes=800, index_interval_bytes=180)
EVERYTHING = 10**9


@pytest.fixture
def log() -> Log:
    made = open_partition(new_disk(), SETTINGS)
    for number in range(30):
        append(made, sent(1, number, value=b"x" * 100), leader_epoch=number // 10)
    assert len(made.segments) > 5
    made.flush()
    return made


def test_a_read_below_the_new_start_is_out_of_range(log: Log) -> None:
    third = list(log.segments)[2].base_offset
    log.retire(2, now_ms=NOW_MS)
    assert (log.log_start_offset, log.local_start_offset) == (third, third)
    with pytest.raises(OffsetOutOfRange):
        log.read(third - 1, size_bytes_max=EVERYTHING, end_offset=EVERYTHING, at_least_one=True)
    assert log.read(third, size_bytes_max=EVERYTHING, end_offset=EVERYTHING, at_least_one=True).region is not None


def test_files_are_renamed_at_once_and_removed_later(log: Log) -> None:
    removal = log.retire(2, now_ms=NOW_MS)
    doomed = [name for name in log.disk.names(log.directory) if name.endswith(".deleted")]
    assert len(doomed) >= 6
    assert f"{log.segments.first.base_offset:020d}.log" == min(name for name in log.disk.names(log.directory) if name.endswith(".log"))
    removal.finish()
    assert not [name for name in log.disk.names(log.directory) if name.endswith(".deleted")]


def test_dropping_segments_keeps_producers_and_removes_old_snapshots(log: Log) -> None:
    log.retire(3, now_ms=NOW_MS)
    assert list_snapshots(log.disk, log.directory)[0] >= log.segments.first.base_offset
    assert [producer.producer_id for producer in log.producers] == [1]


def test_epochs_begin_at_the_new_log_start(log: Log) -> None:
    log.retire(4, now_ms=NOW_MS)
    assert log.leader_epochs.entries[0].start_offset == log.log_start_offset


def test_dropping_all_segments_starts_a_new_one_at_the_end(log: Log) -> None:
    log.retire(len(log.segments), now_ms=NOW_MS)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (30, 30, 1)
    append(log, data(), leader_epoch=5)
    assert log.log_end_offset == 31


def test_a_region_of_a_dropped_segment_is_sent_whole(tmp_path: Path) -> None:
    log, _ = open_reporting(RealDisk(), SETTINGS, directory=str(tmp_path))
    for _ in range(12):
        append(log, data(value=b"x" * 100))
    log.flush()
    region = log.read(0, size_bytes_max=EVERYTHING, end_offset=EVERYTHING, at_least_one=True).region
    assert region is not None
    before = region.read()
    log.retire(1, now_ms=NOW_MS).finish()
    assert region.read() == before
    region.release()


def test_a_tiered_log_keeps_its_start_and_epochs_and_knows_its_local_start(log: Log) -> None:
    log.configure(replace(SETTINGS, remote_enabled=True))
    epochs = list(log.leader_epochs.entries)
    log.retire(3, now_ms=NOW_MS)
    assert (log.log_start_offset, log.leader_epochs.entries) == (0, epochs)
    assert log.local_start_offset == log.segments.first.base_offset
    with pytest.raises(OffsetIsRemote):
        log.read(0, size_bytes_max=EVERYTHING, end_offset=EVERYTHING, at_least_one=True)


def test_a_tiered_log_that_copies_no_more_begins_where_its_disk_does(log: Log) -> None:
    """The segments that leave the disk are nowhere else, so a reader must not wait for them."""
    log.configure(replace(SETTINGS, remote_enabled=True, remote_copy_disabled=True))
    log.retire(3, now_ms=NOW_MS)
    assert log.log_start_offset == log.local_start_offset == log.segments.first.base_offset
    with pytest.raises(OffsetOutOfRange):
        log.read(0, size_bytes_max=EVERYTHING, end_offset=EVERYTHING, at_least_one=True)


def test_a_reopened_tiered_log_keeps_its_start(log: Log) -> None:
    tiered = replace(SETTINGS, remote_enabled=True)
    log.configure(tiered)
    epochs = list(log.leader_epochs.entries)
    log.retire(3, now_ms=NOW_MS)
    local_start = log.local_start_offset
    log.close()
    again = open_partition(log.disk, SETTINGS, log_start_offset=0)
    again.configure(tiered)
    assert (again.log_start_offset, again.local_start_offset, again.leader_epochs.entries) == (0, local_start, epochs)


def test_an_old_start_checkpoint_of_a_log_that_is_not_tiered_is_ignored(log: Log) -> None:
    log.retire(3, now_ms=NOW_MS)
    start = log.log_start_offset
    log.close()
    again = open_partition(log.disk, SETTINGS, log_start_offset=0)
    again.configure(SETTINGS)
    assert again.log_start_offset == again.leader_epochs.entries[0].start_offset == start


def test_dropping_segments_never_changes_offsets(log: Log) -> None:
    log.retire(2, now_ms=NOW_MS)
    kept = [bytes(batch) for _, batch in log.batches(log.log_start_offset, log.log_end_offset)]
    assert offsets(kept) == [(number, number) for number in range(log.log_start_offset, 30)]
    assert log.partition == PARTITION
