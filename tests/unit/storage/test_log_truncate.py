"""Truncating a log at its end, starting it over, and moving its start."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.records.control_batch import ControlType
from barnabas.storage.log import Log
from barnabas.storage.producer_snapshot import list_snapshots
from tests.unit.records.made import repeatable
from tests.unit.storage.logs import (
    DIRECTORY,
    NOW_MS,
    all_batches,
    append,
    base_offsets,
    data,
    fill,
    marker,
    new_disk,
    numbered,
    offsets,
    open_partition,
    sent,
    values,
)


def filled(batches: int = 25) -> Log:
    log = open_partition(new_disk())
    fill(log, batches)
    return log


@pytest.mark.parametrize(
    ("offset", "bases"), [(24, [0, 10, 20]), (21, [0, 10, 20]), (20, [0, 10]), (19, [0, 10]), (11, [0, 10]), (10, [0]), (1, [0]), (0, [0])]
)
def test_truncation_removes_everything_at_and_above_the_offset(offset: int, bases: list[int]) -> None:
    log = filled()
    log.truncate_to(offset)
    assert log.log_end_offset == offset
    assert base_offsets(log) == bases
    assert values(log) == [numbered(n) for n in range(offset)]
    assert {name[:20] for name in log.disk.names(DIRECTORY) if name.endswith((".log", ".index", ".timeindex"))} == {
        f"{base:020d}" for base in bases
    }


@pytest.mark.parametrize("offset", [0, 4, 10, 15, 20])
def test_a_truncated_log_continues_at_the_truncation_offset(offset: int) -> None:
    log = filled()
    log.truncate_to(offset)
    fill(log, 30)
    assert values(log) == [numbered(n) for n in range(offset + 30)]
    assert [first for first, _ in offsets(all_batches(log))] == list(range(offset + 30))


def test_truncating_at_or_behind_the_end_changes_nothing() -> None:
    log = filled()
    for offset in (25, 26, 10**9):
        log.truncate_to(offset)
        assert (log.log_end_offset, base_offsets(log)) == (25, [0, 10, 20])


def test_truncating_at_the_end_drops_an_epoch_without_records() -> None:
    # The replica was leader for a moment; the next leader may have another epoch at this offset.
    log = filled()
    log.leader_epochs.assign(5, 25)
    log.truncate_to(25)
    assert log.leader_epochs.entries == [(0, 0)]


def test_truncation_removes_a_batch_that_spans_the_offset() -> None:
    log = open_partition(new_disk())
    append(log, data(4))
    append(log, data(4))
    log.truncate_to(6)
    assert log.log_end_offset == 4
    assert append(log, data(2)).base_offset == 4
    log.truncate_to(2)
    assert (log.log_end_offset, all_batches(log)) == (0, [])


def test_truncation_also_truncates_epochs() -> None:
    log = open_partition(new_disk())
    for epoch in (1, 2, 3):
        fill(log, 5, leader_epoch=epoch)
    log.truncate_to(7)
    assert log.leader_epochs.entries == [(1, 0), (2, 5)]
    log.truncate_to(5)
    assert log.leader_epochs.entries == [(1, 0)]


def test_truncation_restores_the_producers_of_the_new_end() -> None:
    log = open_partition(new_disk())
    append(log, sent(1, 0, transactional=True))
    fill(log, 12)
    append(log, sent(1, 1, transactional=True))
    append(log, sent(2, 0, transactional=True))
    append(log, marker(1, ControlType.ABORT))
    log.truncate_to(15)
    assert log.producers.producers[1].transaction_first_offset == 0
    assert log.producers.producers[2].transaction_first_offset == 14
    assert log.aborted_transactions(0, 100) == []
    log.truncate_to(13)
    assert list(log.producers.producers) == [1]
    assert log.producers.producers[1].last_sequence == 0
    assert append(log, sent(1, 1, transactional=True)).base_offset == 13


def test_truncation_removes_snapshots_above_the_offset() -> None:
    log = filled()
    assert list_snapshots(log.disk, DIRECTORY) == [10, 20]
    log.truncate_to(20)
    assert list_snapshots(log.disk, DIRECTORY) == [10, 20]
    log.truncate_to(19)
    assert list_snapshots(log.disk, DIRECTORY) == [10]
    fill(log, 1)
    log.roll(now_ms=NOW_MS)
    assert list_snapshots(log.disk, DIRECTORY) == [10, 20]


def test_the_recovery_point_and_the_start_never_lie_above_the_end() -> None:
    log = filled()
    log.flush()
    log.advance_start(18)
    log.truncate_to(15)
    assert (log.log_start_offset, log.recovery_point, log.log_end_offset) == (15, 15, 15)


@pytest.mark.parametrize("offset", [0, 10, 25, 1000])
def test_starting_over_leaves_an_empty_log(offset: int) -> None:
    log = filled()
    append(log, sent(1, 0))
    log.truncate_fully(offset)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (offset, offset, offset)
    assert (base_offsets(log), values(log), log.size_bytes()) == ([offset], [], 0)
    assert (log.leader_epochs.entries, len(log.producers), list_snapshots(log.disk, DIRECTORY)) == ([], 0, [])
    assert append(log).base_offset == offset
    assert [name for name in log.disk.names(DIRECTORY) if name.endswith(".log")] == [f"{offset:020d}.log"]


def test_truncating_below_the_first_segment_starts_over() -> None:
    log = open_partition(new_disk(), log_start_offset=100)
    fill(log, 5)
    log.truncate_to(40)
    assert (log.log_start_offset, log.log_end_offset, base_offsets(log)) == (40, 40, [40])


def test_moving_the_log_start_drops_older_epochs() -> None:
    log = open_partition(new_disk())
    for epoch in (1, 2, 3):
        fill(log, 5, leader_epoch=epoch)
    log.advance_start(7)
    assert log.leader_epochs.entries == [(2, 7), (3, 10)]


def test_a_region_that_is_being_sent_survives_the_removal_of_its_segment() -> None:
    log = filled()
    region = log.read(20, size_bytes_max=10**6, end_offset=25, at_least_one=True).region
    assert region is not None
    before = region.read()
    log.truncate_to(5)
    assert region.read() == before
    region.release()


@repeatable
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 60)), min_size=1, max_size=8))
def test_truncating_and_appending_repeatedly_keeps_the_log_consistent(steps: list[tuple[int, int]]) -> None:
    log = open_partition(new_disk())
    kept: list[bytes] = []
    for number, (batches, cut) in enumerate(steps):
        for _ in range(batches):
            value = b"%d at %d" % (number, log.log_end_offset)
            append(log, data(value=value), leader_epoch=number)
            kept.append(value)
        log.truncate_to(cut)
        del kept[cut:]
        assert values(log) == kept
        for epoch, start in log.leader_epochs.entries:
            assert kept[start].startswith(b"%d at" % epoch)


def test_syncing_a_segment_that_was_dropped_meanwhile_succeeds() -> None:
    disk = new_disk()
    log = open_partition(disk)
    fill(log, 25)
    _, segments = log.flushing.begin(log.log_end_offset)
    log.truncate_fully(7)
    for segment in segments:
        segment.sync()
    assert log.log_end_offset == 7
