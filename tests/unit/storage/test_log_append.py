"""Appending: offsets, patches, rolls, producers, and refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import read_header
from barnabas.records.control_batch import ControlType
from barnabas.records.validation import Refused
from barnabas.storage.log import Appended, Log
from barnabas.storage.producer_snapshot import list_snapshots
from tests.unit.storage.logs import (
    BATCH_BYTES,
    DIRECTORY,
    NOW_MS,
    SMALL,
    all_batches,
    all_records,
    append,
    base_offsets,
    data,
    fill,
    marker,
    new_disk,
    offer,
    offsets,
    open_partition,
    sent,
)


def test_batches_get_consecutive_offsets() -> None:
    log = open_partition(new_disk())
    assert append(log, data(3)) == Appended(0, 2, -1)
    assert append(log, data(1)) == Appended(3, 3, -1)
    assert append(log, data(2)) == Appended(4, 5, -1)
    assert log.log_end_offset == 6
    assert offsets(all_batches(log)) == [(0, 2), (3, 3), (4, 5)]


def test_a_batch_is_patched_in_the_callers_memory_and_then_written() -> None:
    log = open_partition(new_disk())
    fill(log, 2)
    batch = data()
    append(log, batch, leader_epoch=9)
    assert all_batches(log)[-1] == bytes(batch)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (2, 9)


def test_a_log_may_begin_at_any_offset() -> None:
    log = open_partition(new_disk(), log_start_offset=1000)
    assert (log.log_start_offset, log.log_end_offset, base_offsets(log)) == (1000, 1000, [1000])
    assert append(log).base_offset == 1000


def test_the_first_batch_of_an_epoch_saves_the_epoch() -> None:
    disk = new_disk()
    log = open_partition(disk)
    fill(log, 2, leader_epoch=1)
    fill(log, 2, leader_epoch=4)
    assert log.leader_epochs.entries == [(1, 0), (4, 2)]
    assert disk.read(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n2\n1 0\n4 2\n"


# -- rolling


def test_a_segment_never_exceeds_segment_bytes() -> None:
    log = open_partition(new_disk())
    fill(log, 25)
    assert base_offsets(log) == [0, 10, 20]
    assert [segment.size_bytes for segment in log.segments] == [10 * BATCH_BYTES, 10 * BATCH_BYTES, 5 * BATCH_BYTES]
    assert log.size_bytes() == 25 * BATCH_BYTES


def test_a_batch_larger_than_a_segment_is_refused_and_changes_nothing() -> None:
    log = open_partition(new_disk())
    fill(log, 1)
    refused = offer(log, data(value=bytes(SMALL.segment_bytes)))
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert (log.log_end_offset, base_offsets(log)) == (1, [0])
    largest = data(value=bytes(SMALL.segment_bytes - BATCH_BYTES + 30))
    assert len(largest) == SMALL.segment_bytes
    append(log, largest)


def test_a_segment_rolls_by_age() -> None:
    log = open_partition(new_disk(), replace(SMALL, segment_ms=1000))
    for delta in (0, 1000, 1001, 1500, 2001, 2002):
        append(log, data(timestamp=NOW_MS + delta))
    assert base_offsets(log) == [0, 2, 5]


def test_a_segment_rolls_when_an_index_is_full() -> None:
    log = open_partition(new_disk(), replace(SMALL, segment_bytes=10**6, index_interval_bytes=0, index_bytes_max=48))
    fill(log, 12)
    # The time index has three entries, and the fourth is kept for sealing; every batch but the
    # first of a segment adds one.
    assert base_offsets(log) == [0, 4, 8]


def test_a_segment_rolls_when_offsets_exceed_its_relative_range() -> None:
    log = open_partition(new_disk())
    fill(log, 1)
    far = data()
    header = read_header(far)._replace(last_offset_delta=2**31 - 2)
    assert isinstance(log.append(memoryview(far), header, leader_epoch=0, now_ms=NOW_MS), Appended)
    assert base_offsets(log) == [0]
    append(log, data())
    assert base_offsets(log) == [0, 2**31]


def test_a_roll_calls_its_listeners() -> None:
    rolls: list[int] = []
    log = open_partition(new_disk())
    log.on_roll = lambda rolled: rolls.append(rolled.segments.active.base_offset)
    fill(log, 21)
    assert rolls == [10, 20]


def test_a_roll_completes_the_time_index_and_writes_a_producer_snapshot() -> None:
    disk = new_disk()
    log = open_partition(disk)
    append(log, sent(7, 0))
    fill(log, 9)
    log.roll(now_ms=NOW_MS)
    first = log.segments.first
    assert first.time_index.last() == (NOW_MS + 9, 9)
    assert list_snapshots(disk, DIRECTORY) == [10]
    assert log.segments.active.base_offset == 10


def test_an_empty_log_does_not_roll() -> None:
    with pytest.raises(AssertionError):
        open_partition(new_disk()).roll(now_ms=NOW_MS)


# -- producers


def test_a_retry_gets_the_first_result_and_is_not_written_again() -> None:
    log = open_partition(new_disk())
    append(log, sent(7, 0, count=2))
    append(log, sent(7, 2))
    size = log.size_bytes()
    assert offer(log, sent(7, 0, count=2)) == Appended(0, 1, -1, duplicate=True)
    assert (log.log_end_offset, log.size_bytes()) == (3, size)


def test_a_retry_gets_the_append_time_of_the_first_append() -> None:
    log = open_partition(new_disk())
    first = sent(7, 0)
    assert offer(log, first, append_time_ms=NOW_MS) == Appended(0, 0, NOW_MS)
    assert offer(log, sent(7, 0), append_time_ms=NOW_MS + 5000) == Appended(0, 0, NOW_MS, duplicate=True)


def test_a_sequence_gap_a_zombie_and_a_write_outside_a_transaction_are_refused() -> None:
    log = open_partition(new_disk())
    append(log, sent(7, 0, epoch=1, transactional=True))
    for batch, code in [
        (sent(7, 2, epoch=1, transactional=True), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(7, 1, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH),
        (sent(7, 1, epoch=1), ErrorCode.INVALID_TXN_STATE),
    ]:
        refused = offer(log, batch)
        assert isinstance(refused, Refused)
        assert refused.code is code
    assert log.log_end_offset == 1


def aborted_log() -> Log:
    """Producer 1 aborts offsets 0 and 2, producer 2 commits 1, producer 1 aborts 5; segments begin
    at 0 and 10.
    """
    log = open_partition(new_disk())
    append(log, sent(1, 0, transactional=True))
    append(log, sent(2, 0, transactional=True))
    append(log, sent(1, 1, transactional=True))
    append(log, marker(1, ControlType.ABORT))
    append(log, marker(2, ControlType.COMMIT))
    append(log, sent(1, 2, transactional=True))
    append(log, marker(1, ControlType.ABORT))
    return log


def test_aborted_transactions_are_found_by_the_offsets_they_touch() -> None:
    log = aborted_log()
    first, second = (1, 0, 3, 1), (1, 5, 6, 7)
    assert log.aborted_transactions(0, 7) == [first, second]
    assert log.aborted_transactions(0, 5) == [first]
    assert log.aborted_transactions(4, 7) == [second]
    assert log.aborted_transactions(7, 9) == []
    assert log.producers.first_unstable_offset() == 0, "markers count when they are on all replicas"
    log.producers.replicated_up_to(log.log_end_offset)
    assert log.producers.first_unstable_offset() is None


def test_an_abort_in_a_later_segment_is_found_for_a_reader_of_an_earlier_one() -> None:
    log = open_partition(new_disk())
    append(log, sent(1, 0, transactional=True))
    fill(log, 15)
    append(log, marker(1, ControlType.ABORT))
    assert base_offsets(log) == [0, 10]
    assert log.aborted_transactions(0, 3) == [(1, 0, 16, 17)]


def test_markers_do_not_affect_sequences() -> None:
    log = aborted_log()
    assert append(log, sent(1, 3)).base_offset == 7
    assert [record.offset for record in all_records(log)] == list(range(8))
