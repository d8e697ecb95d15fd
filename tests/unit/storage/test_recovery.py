"""Opening a directory in any state: the table of ``recovery.py``, line by line."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch

import pytest

from barnabas.records.batch_header import assign_offset
from barnabas.records.batches import CorruptBatch
from barnabas.records.control_batch import ControlType
from barnabas.records.validation import BatchRules
from barnabas.simulation.disk import PowerCut, SimulatedDisk, SimulatedFile
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.producer_snapshot import list_snapshots, snapshot_path
from barnabas.storage.recovery import open_log
from tests.unit.storage.logs import (
    BATCH_BYTES,
    DIRECTORY,
    NOW_MS,
    PARTITION,
    SMALL,
    all_batches,
    append,
    base_offsets,
    data,
    files,
    fill,
    marker,
    new_disk,
    numbered,
    open_partition,
    open_reporting,
    sent,
    values,
    write_file,
)

COMPACTED = replace(SMALL, rules=BatchRules(keys_required=True))


def name(base: int, suffix: str) -> str:
    return f"{base:020d}{suffix}"


def path(base: int, suffix: str) -> str:
    return f"{DIRECTORY}/{name(base, suffix)}"


def closed(batches: int = 25, *, before: Callable[[Log], None] | None = None) -> SimulatedDisk:
    """A cleanly closed directory; segments begin at 0, 10 and 20."""
    disk = new_disk()
    log = open_partition(disk)
    if before is not None:
        before(log)
    fill(log, batches - log.log_end_offset)
    log.close()
    return disk


def opened_twice(disk: SimulatedDisk, *, recovery_point: int = 0) -> Log:
    """Opened after a crash, and again after another crash right behind it: both must find the
    same.
    """
    first = open_partition(disk, recovery_point=recovery_point)
    again = open_partition(disk.kill(), recovery_point=recovery_point)
    assert all_batches(first) == all_batches(again)
    assert base_offsets(first) == base_offsets(again)
    assert first.leader_epochs.entries == again.leader_epochs.entries
    assert {each.producer_id: each for each in first.producers} == {each.producer_id: each for each in again.producers}
    return first


# -- the ordinary cases


def test_a_new_directory_becomes_an_empty_log() -> None:
    disk = new_disk()
    log, report = open_reporting(disk, log_start_offset=7)
    assert (log.log_start_offset, log.log_end_offset, base_offsets(log)) == (7, 7, [7])
    assert not report.eventful
    assert set(disk.crash().names(DIRECTORY)) == {name(7, ".log"), name(7, ".index"), name(7, ".timeindex")}


def test_opening_after_a_clean_stop_scans_and_changes_nothing() -> None:
    disk = closed()
    before = files(disk)
    log, report = open_reporting(disk, clean=True)
    assert (report.segments_recovered, report.eventful) == (0, False)
    assert values(log) == [numbered(n) for n in range(25)]
    assert files(disk) == before
    assert (log.recovery_point, log.log_end_offset) == (25, 25)


def test_after_an_unclean_stop_segments_that_reach_above_the_recovery_point_are_scanned() -> None:
    disk = closed()
    for recovery_point, scanned in [(0, 3), (9, 3), (10, 2), (19, 2), (20, 1), (25, 1), (99, 1)]:
        log, report = open_reporting(disk.kill(), recovery_point=recovery_point)
        assert report.segments_recovered == scanned
        assert log.recovery_point == min(recovery_point, 25)
        assert values(log) == [numbered(n) for n in range(25)]


def test_a_recovered_log_accepts_appends() -> None:
    for clean in (True, False):
        log = open_partition(closed(), clean=clean)
        fill(log, 20)
        assert values(log) == [numbered(n) for n in range(45)]
        assert base_offsets(log) == [0, 10, 20, 30, 40]


def test_a_derived_index_equals_the_written_one() -> None:
    disk = closed()
    before = files(disk)
    open_partition(disk).close()
    assert files(disk) == before


def test_the_start_may_lie_inside_a_segment() -> None:
    log = open_partition(closed(), clean=True, log_start_offset=13)
    assert (log.log_start_offset, base_offsets(log)) == (13, [0, 10, 20])
    assert values(log) == [numbered(n) for n in range(13, 25)]


def test_the_start_is_never_below_the_first_segment() -> None:
    disk = closed()
    for suffix in (".log", ".index", ".timeindex"):
        disk.remove(path(0, suffix))
    log = open_partition(disk, log_start_offset=0)
    assert (log.log_start_offset, base_offsets(log)) == (10, [10, 20])


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_start_above_the_end_empties_the_log_so_that_no_offset_is_reused(clean: bool) -> None:
    disk = closed()
    log, report = open_reporting(disk, clean=clean, log_start_offset=40)
    assert (log.log_start_offset, log.log_end_offset, base_offsets(log)) == (40, 40, [40])
    assert report.segments_removed == 3
    assert (log.leader_epochs.entries, list_snapshots(disk, DIRECTORY)) == ([], [])
    assert append(log).base_offset == 40


# -- *.deleted, *.cleaned, *.swap


@pytest.mark.parametrize("suffix", [".log.deleted", ".index.deleted", ".timeindex.deleted", ".txnindex.deleted", ".snapshot.deleted"])
def test_deleted_files_are_removed(suffix: str) -> None:
    disk = closed()
    write_file(disk, name(0, suffix), b"anything")
    write_file(disk, name(99, suffix), b"anything")
    log, report = open_reporting(disk, clean=True)
    assert not disk.exists(path(0, suffix))
    assert f"removed {name(99, suffix)}" in report.notes
    assert values(log) == [numbered(n) for n in range(25)]


@pytest.mark.parametrize("suffix", [".log.cleaned", ".index.cleaned", ".timeindex.cleaned", ".txnindex.cleaned"])
def test_the_output_of_an_interrupted_compaction_is_removed(suffix: str) -> None:
    disk = closed()
    write_file(disk, name(0, suffix), data())
    log, report = open_reporting(disk, clean=True)
    assert not disk.exists(path(0, suffix))
    assert report.eventful
    assert values(log) == [numbered(n) for n in range(25)]


def test_a_checkpoint_that_was_being_written_is_removed() -> None:
    disk = closed()
    write_file(disk, "leader-epoch-checkpoint.tmp", b"0\n1")
    open_partition(disk, clean=True)
    assert not disk.exists(f"{DIRECTORY}/leader-epoch-checkpoint.tmp")


def compacted(*offsets: int) -> bytes:
    """The output of compacting some segments: batches at these offsets."""
    out = b""
    for offset in offsets:
        batch = data(value=numbered(offset), timestamp=NOW_MS + offset)
        assign_offset(batch, offset, 0)
        out += bytes(batch)
    return out


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("with_indexes", [True, False])
def test_a_finished_compaction_is_swapped_in_and_replaces_its_sources(clean: bool, with_indexes: bool) -> None:
    disk = closed()
    write_file(disk, name(0, ".log.swap"), compacted(3, 11, 19))
    if with_indexes:
        write_file(disk, name(0, ".index.swap"), struct.pack(">ii", 19, 2 * BATCH_BYTES))
        write_file(disk, name(0, ".timeindex.swap"), struct.pack(">qi", NOW_MS + 19, 19))
    log, report = open_reporting(disk, clean=clean)
    assert base_offsets(log) == [0, 20]
    assert values(log) == [numbered(n) for n in (3, 11, 19, *range(20, 25))]
    assert report.eventful
    assert not any(".swap" in each or each.startswith(f"{10:020d}.l") for each in disk.names(DIRECTORY))
    for suffix in (".index", ".timeindex"):
        assert disk.exists(path(0, suffix))
    assert log.segments.first.index.fault(log.segments.first.size_bytes) is None
    assert log.segments.first.time_index.last() == (NOW_MS + 19, 19)


def test_a_swap_keeps_no_index_of_the_segment_it_replaces() -> None:
    disk = closed(before=aborting)
    assert disk.size_bytes(path(0, ".txnindex")) == 34
    write_file(disk, name(0, ".log.swap"), compacted(3))
    log = open_partition(disk, clean=True)
    assert log.segments.first.transaction_index.entries() == []
    assert log.segments.first.index.file.read_all() == []


@pytest.mark.parametrize("step", range(1, 12))
def test_a_power_cut_never_brings_an_old_segment_back_behind_the_compacted_one(step: int) -> None:
    disk = closed()
    write_file(disk, name(0, ".log.swap"), compacted(3, 11, 19))
    disk.open(path(0, ".log.swap")).sync()
    disk.sync_directory(DIRECTORY)
    disk.crash_after(step)
    with suppress(PowerCut):
        open_partition(disk, COMPACTED)
    for _ in range(60):
        log = open_partition(disk.crash(), COMPACTED)
        assert base_offsets(log) == [0, 20]
        assert values(log) == [numbered(n) for n in (3, 11, 19, *range(20, 25))]


def test_indexes_of_a_swap_whose_log_is_in_place_follow_it() -> None:
    disk = closed()
    good = files(disk)
    write_file(disk, name(0, ".index.swap"), good[name(0, ".index")])
    write_file(disk, name(0, ".index"), b"")
    log, _ = open_reporting(disk, clean=True)
    assert files(disk) == good
    assert values(log) == [numbered(n) for n in range(25)]


def test_several_swaps_are_all_finished() -> None:
    disk = closed()
    write_file(disk, name(0, ".log.swap"), compacted(1, 9))
    write_file(disk, name(10, ".log.swap"), compacted(12))
    log = open_partition(disk, COMPACTED)
    assert base_offsets(log) == [0, 10, 20]
    assert values(log) == [numbered(n) for n in (1, 9, 12, *range(20, 25))]


def test_a_segment_that_ends_before_the_next_is_a_hole_unless_compacted() -> None:
    """A power cut may take the unflushed end of one file and leave the next, whose name was
    synced.
    """
    disk = closed()
    disk.open(path(10, ".log")).truncate(4 * BATCH_BYTES)
    log, report = open_reporting(disk.kill(), recovery_point=12)
    assert (base_offsets(log), log.log_end_offset, report.segments_removed) == ([0, 10], 14, 1)
    # Nothing is scanned below the recovery point, and a gap that compaction left is valid.
    assert base_offsets(open_partition(disk.kill(), recovery_point=20)) == [0, 10, 20]
    assert base_offsets(open_partition(disk.kill(), COMPACTED, recovery_point=12)) == [0, 10, 20]
    # Nor below the cleaner's checkpoint.
    for cleaned_to, bases in ((20, [0, 10, 20]), (10, [0, 10])):
        found, _ = open_log(
            disk.kill(),
            DIRECTORY,
            PARTITION,
            SMALL,
            clean=False,
            recovery_point=12,
            log_start_offset=0,
            now_ms=NOW_MS,
            cleaned_to=cleaned_to,
        )
        assert base_offsets(found) == bases


# -- logs without indexes, indexes without logs


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("base", [0, 10, 20])
@pytest.mark.parametrize("lost", [[".index"], [".timeindex"], [".index", ".timeindex"]])
def test_a_missing_index_is_derived_from_the_log(clean: bool, base: int, lost: list[str]) -> None:
    disk = closed()
    before = files(disk)
    for suffix in lost:
        disk.remove(path(base, suffix))
    log, report = open_reporting(disk, clean=clean, recovery_point=25)
    assert f"an index of {base:020d} is missing" in report.notes
    assert values(log) == [numbered(n) for n in range(25)]
    log.close()
    assert files(disk) == before


def test_an_index_that_was_derived_below_the_recovery_point_is_durable() -> None:
    disk = closed()
    for suffix in (".index", ".timeindex"):
        disk.remove(path(0, suffix))
    disk.sync_directory(DIRECTORY)
    open_partition(disk, recovery_point=25)
    for _ in range(40):
        first = open_partition(disk.crash(), recovery_point=25).segments.first
        assert first.index.file.read_all() == [(3, 3 * BATCH_BYTES), (6, 6 * BATCH_BYTES), (9, 9 * BATCH_BYTES)]
        assert first.time_index.last() == (NOW_MS + 9, 9)


def aborting(log: Log) -> None:
    """Producer 1 begins in the first segment and aborts in the second; producer 2 aborts inside the
    first.
    """
    append(log, sent(1, 0, transactional=True))
    append(log, sent(2, 0, transactional=True))
    append(log, marker(2, ControlType.ABORT))
    fill(log, 9)
    append(log, marker(1, ControlType.ABORT))


ABORTS = [(2, 1, 2, 0), (1, 0, 12, 13)]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("recovery_point", [0, 25])
@pytest.mark.parametrize("base", [0, 10])
def test_deriving_an_index_again_keeps_all_aborts(clean: bool, recovery_point: int, base: int) -> None:
    disk = closed(before=aborting)
    disk.remove(path(base, ".index"))
    log = open_partition(disk, clean=clean, recovery_point=recovery_point)
    assert log.aborted_transactions(0, 25) == ABORTS


def test_aborts_are_found_again_by_a_scan_even_without_a_snapshot() -> None:
    disk = closed(before=aborting)
    for offset in list_snapshots(disk, DIRECTORY):
        disk.remove(snapshot_path(DIRECTORY, offset))
    for base in (0, 10):
        disk.remove(path(base, ".txnindex"))
    for recovery_point in (0, 10):
        log = open_partition(disk.kill(), recovery_point=recovery_point)
        assert log.aborted_transactions(0, 25) == ABORTS[bool(recovery_point) :]


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_an_index_without_a_log_is_removed(suffix: str) -> None:
    disk = closed()
    write_file(disk, name(5, suffix), b"\x00" * 8)
    log, report = open_reporting(disk, clean=True)
    assert not disk.exists(path(5, suffix))
    assert f"removed {name(5, suffix)}, which has no log" in report.notes
    assert base_offsets(log) == [0, 10, 20]


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".index", struct.pack(">ii", 3, 10_000)),
        (".index", struct.pack(">iiii", 3, 300, 2, 400)),
        (".index", bytes(8 * 100)),
        (".timeindex", struct.pack(">qi", NOW_MS, 99)),
        (".timeindex", struct.pack(">qiqi", NOW_MS, 1, 0, 0)),
        (".txnindex", struct.pack(">hqqqq", 0, 1, 24, 22, 25)),
    ],
)
def test_an_implausible_index_of_the_active_segment_is_derived_again_after_a_clean_stop(suffix: str, content: bytes) -> None:
    disk = closed()
    before = files(disk)
    write_file(disk, name(20, suffix), content)
    log, report = open_reporting(disk, clean=True)
    assert any("is wrong" in note for note in report.notes)
    assert values(log) == [numbered(n) for n in range(25)]
    log.close()
    before.setdefault(name(20, ".txnindex"), b"")
    assert files(disk) | {name(20, ".txnindex"): b""} == before


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("base", [0, 10, 20])
def test_an_index_that_points_to_no_batch_is_derived_again(clean: bool, base: int) -> None:
    disk = closed()
    before = files(disk)
    disk.flip_bit(path(base, ".index"), disk.size_bytes(path(base, ".index")) - 1, 3)
    log, report = open_reporting(disk, clean=clean, recovery_point=25)
    assert values(log) == [numbered(n) for n in range(25)]
    if clean or base < 20:
        assert any(f"an index of {base:020d} is wrong" in note for note in report.notes)
    log.close()
    assert files(disk) == before


def test_a_damaged_log_below_the_recovery_point_is_not_truncated() -> None:
    disk = closed()
    damage_at(disk, 0, "garbage")
    before = disk.read(path(0, ".log"))
    with pytest.raises(CorruptBatch, match="position"):
        open_partition(disk, recovery_point=25)
    assert disk.read(path(0, ".log")) == before


def test_a_partial_entry_at_the_end_of_an_index_is_trimmed() -> None:
    disk = closed()
    before = files(disk)
    write_file(disk, name(20, ".index"), before[name(20, ".index")] + b"\x00\x01")
    open_partition(disk, clean=True).close()
    assert files(disk) == before


# -- a damaged tail


def damage_at(disk: SimulatedDisk, base: int, how: str) -> None:
    """The segment's third batch is damaged, or bytes follow its last."""
    log = disk.open(path(base, ".log"))
    third, size = 2 * BATCH_BYTES, log.size_bytes()
    match how:
        case "cut in a batch":
            log.truncate(third + 70)
        case "cut in a header":
            log.truncate(third + 20)
        case "cut after one byte":
            log.truncate(third + 1)
        case "zeros from here on":
            log.write_at(third, bytes(size - third))
        case "one bit":
            disk.flip_bit(log.path, third + 90)
        case "an offset that goes back":
            log.write_at(third, bytes(7) + b"\x01")
        case "garbage":
            log.write_at(third, b"\xa5" * (size - third))


DAMAGES = [
    "cut in a batch",
    "cut in a header",
    "cut after one byte",
    "zeros from here on",
    "one bit",
    "an offset that goes back",
    "garbage",
]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_tail_is_truncated_at_the_first_incomplete_batch(how: str) -> None:
    disk = closed()
    damage_at(disk, 20, how)
    size = disk.size_bytes(path(20, ".log"))
    log, report = open_reporting(disk, recovery_point=20)
    assert log.log_end_offset == 22
    assert values(log) == [numbered(n) for n in range(22)]
    assert report.bytes_truncated == size - 2 * BATCH_BYTES
    assert report.notes
    assert append(log).base_offset == 22
    opened_twice(disk)


@pytest.mark.parametrize("tail", [bytes(1), bytes(60), bytes(61), bytes(5000), b"\xff" * 100, data()[:-1]])
def test_bytes_behind_the_last_whole_batch_are_truncated(tail: bytes) -> None:
    disk = closed()
    file = disk.open(path(20, ".log"))
    file.write_at(file.size_bytes(), tail)
    log, report = open_reporting(disk, recovery_point=25)
    assert (log.log_end_offset, report.bytes_truncated) == (25, len(tail))
    assert values(log) == [numbered(n) for n in range(25)]


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("base", [0, 10])
def test_segments_behind_a_truncation_are_removed(how: str, base: int) -> None:
    disk = closed()
    damage_at(disk, base, how)
    log, report = open_reporting(disk, recovery_point=0)
    assert log.log_end_offset == base + 2
    assert values(log) == [numbered(n) for n in range(base + 2)]
    assert report.segments_removed == (25 - base) // 10
    assert {each for each in disk.names(DIRECTORY) if each > name(base + 1, "")} <= {"leader-epoch-checkpoint"}
    opened_twice(disk)


def test_segments_below_the_recovery_point_are_not_scanned() -> None:
    disk = closed()
    damage_at(disk, 0, "one bit")
    log, report = open_reporting(disk, recovery_point=25)
    assert report.segments_recovered == 1
    assert log.log_end_offset == 25


def test_a_removal_that_a_crash_interrupted_is_finished_by_the_next_recovery() -> None:
    """The truncation comes after the removals, or the segments behind it would look valid."""
    disk = closed()
    damage_at(disk, 0, "one bit")
    for step in range(1, 60):
        world = disk.kill()
        world.crash_after(step)
        with suppress(PowerCut):
            open_partition(world, recovery_point=0)
        for _ in range(5):
            after = open_partition(world.crash(), recovery_point=0)
            assert values(after) == [numbered(n) for n in range(2)]


# -- producers


def producing(log: Log) -> None:
    for sequence in range(12):
        append(log, sent(1, sequence))
    append(log, sent(2, 40, count=2, transactional=True))
    append(log, sent(3, 0, transactional=True))
    append(log, marker(3, ControlType.COMMIT, epoch=1))


def remembered(log: Log) -> dict[int, tuple[object, ...]]:
    return {
        each.producer_id: (each.epoch, each.last_sequence, each.transaction_first_offset, each.coordinator_epoch, each.last_timestamp)
        for each in log.producers
    }


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("lost", ["none", "the last", "all", "damaged", "empty"])
def test_producers_are_the_same_with_any_snapshots_missing_or_damaged(clean: bool, lost: str) -> None:
    disk = closed(before=producing)
    expected = remembered(open_partition(disk.kill(), clean=True))
    assert expected[1] == (0, 11, None, -1, NOW_MS)
    assert expected[2][:3] == (0, 41, 12)
    assert expected[3][:3] == (1, -1, None)
    snapshots = list_snapshots(disk, DIRECTORY)
    assert snapshots[-1] == 25
    for offset in snapshots:
        if lost == "all" or (lost == "the last" and offset == snapshots[-1]):
            disk.remove(snapshot_path(DIRECTORY, offset))
        elif lost == "damaged":
            disk.flip_bit(snapshot_path(DIRECTORY, offset), 20)
        elif lost == "empty":
            disk.open(snapshot_path(DIRECTORY, offset)).truncate(0)
    log = open_partition(disk, clean=clean)
    assert remembered(log) == expected
    assert log.producers.first_unstable_offset() == 12


def test_batches_behind_a_snapshot_inside_a_segment_are_replayed() -> None:
    """A clean stop leaves one; when later ones are missing, the batches after it are replayed."""
    disk = new_disk()
    log = open_partition(disk)
    append(log, sent(1, 0, transactional=True))
    fill(log, 4)
    log.close()  # writes snapshot 5
    log = open_partition(disk, clean=True)
    append(log, sent(2, 0, transactional=True))
    fill(log, 19)  # makes segments at 10 and 20
    append(log, marker(2, ControlType.ABORT))
    assert list_snapshots(disk, DIRECTORY) == [5, 10, 20]
    for offset in (10, 20):
        disk.remove(snapshot_path(DIRECTORY, offset))
    after = open_partition(disk.kill(), recovery_point=20)
    assert after.aborted_transactions(0, 30) == [(2, 5, 25, 0)]


def test_snapshots_that_belong_to_no_segment_are_removed_except_the_newest() -> None:
    disk = closed()
    good = disk.read(snapshot_path(DIRECTORY, 25))
    for offset in (3, 15, 24):
        write_file(disk, name(offset, ".snapshot"), good)
    open_partition(disk, clean=True)
    assert list_snapshots(disk, DIRECTORY) == [10, 20, 25]


def test_a_snapshot_of_a_lost_tail_is_removed_durably() -> None:
    disk = closed(before=producing)
    damage_at(disk, 10, "one bit")
    log = open_partition(disk, LogSettings(), recovery_point=0)
    assert (log.log_end_offset, list_snapshots(disk, DIRECTORY)) == (12, [10])
    # Past the offsets of the lost ones, and without a roll, which would sync the directory.
    fill(log, 30)
    log.flush()
    for _ in range(30):
        after = open_partition(disk.crash(), LogSettings(), recovery_point=log.recovery_point)
        assert remembered(after) == remembered(log)


def test_a_producer_whose_batch_spans_the_start_is_remembered() -> None:
    disk = new_disk()
    log = open_partition(disk)
    append(log, sent(1, 0, count=4))
    log.advance_start(2)
    again = open_partition(disk.kill(), log_start_offset=2)
    assert again.producers.producers[1].last_sequence == 3


# -- epochs


def leading(log: Log) -> None:
    for epoch, batches in ((1, 4), (3, 9), (4, 12)):
        fill(log, batches, leader_epoch=epoch)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("lost", ["nothing", "the file", "its content", "a line"])
def test_epochs_are_the_same_with_their_file_missing_or_damaged(clean: bool, lost: str) -> None:
    disk = new_disk()
    log = open_partition(disk)
    leading(log)
    log.close()
    match lost:
        case "the file":
            disk.remove(f"{DIRECTORY}/leader-epoch-checkpoint")
        case "its content":
            write_file(disk, "leader-epoch-checkpoint", b"")
        case "a line":
            write_file(disk, "leader-epoch-checkpoint", b"0\n3\n1 0\n3 4\n")
    log = open_partition(disk, clean=clean, recovery_point=25)
    assert log.leader_epochs.entries == [(1, 0), (3, 4), (4, 13)]


def test_epochs_of_a_lost_tail_are_dropped() -> None:
    disk = new_disk()
    log = open_partition(disk)
    leading(log)
    log.close()
    damage_at(disk, 10, "one bit")
    assert open_partition(disk).leader_epochs.entries == [(1, 0), (3, 4)]


def test_an_epoch_without_records_at_the_log_end_is_kept() -> None:
    disk = new_disk()
    log = open_partition(disk)
    fill(log, 3, leader_epoch=1)
    log.leader_epochs.assign(2, 3)
    log.leader_epochs.save()
    assert open_partition(disk.kill()).leader_epochs.entries == [(1, 0), (2, 3)]


def test_epochs_are_read_from_batches_when_the_log_start_lies_below_them() -> None:
    """Moving the log start truncated the file of epochs, and the process died before it
    checkpointed the start.
    """
    disk = new_disk()
    log = open_partition(disk)
    leading(log)
    log.flush()
    log.leader_epochs.assign(9, 25)
    log.advance_start(15)
    assert log.leader_epochs.entries == [(4, 15), (9, 25)]
    assert open_partition(disk.kill(), recovery_point=25).leader_epochs.entries == [(1, 0), (3, 4), (4, 13), (9, 25)]


def test_epochs_below_the_log_start_are_dropped() -> None:
    disk = new_disk()
    log = open_partition(disk)
    leading(log)
    log.close()
    assert open_partition(disk, clean=True, log_start_offset=15).leader_epochs.entries == [(4, 15)]


def test_files_about_segments_are_ignored_when_there_is_no_segment() -> None:
    """As a crash in the middle of starting over leaves it."""
    disk = closed(before=producing)
    for each in disk.names(DIRECTORY):
        if each.endswith((".log", ".index", ".timeindex")):
            disk.remove(f"{DIRECTORY}/{each}")
    log = open_partition(disk, log_start_offset=5)
    assert (log.log_end_offset, log.leader_epochs.entries, len(log.producers), list_snapshots(disk, DIRECTORY)) == (5, [], 0, [])


def test_an_idle_log_is_opened_with_one_listing_and_one_open_file() -> None:
    """A node may have tens of thousands of them, and its start waits for each."""
    disk = new_disk()
    open_partition(disk, clean=True).close()
    calls: list[str] = []
    names, open_file = disk.names, disk.open

    def counted_names(directory: str) -> list[str]:
        calls.append("names")
        return names(directory)

    def counted_open(path: str) -> SimulatedFile:
        calls.append(path.rpartition(".")[2])
        return open_file(path)

    with patch.object(disk, "names", counted_names), patch.object(disk, "open", counted_open):
        open_partition(disk, clean=True)
    assert calls == ["names", "log"]
