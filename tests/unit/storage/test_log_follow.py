"""Appending batches of a leader: unchanged, at their offsets."""

from __future__ import annotations

from barnabas.records.batch_header import assign_offset, read_header
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import Log
from tests.unit.storage.logs import SMALL, all_batches, append, base_offsets, data, new_disk, offsets, open_partition, sent


def follow(log: Log, offset: int, *, epoch: int = 0, batch: bytearray | None = None) -> bytes:
    batch = data() if batch is None else batch
    assign_offset(batch, offset, epoch)
    log.append_as_follower(batch, read_header(batch), 0)
    return bytes(batch)


def test_followed_batches_keep_their_offsets_and_epochs() -> None:
    log = open_partition(new_disk())
    written = [follow(log, 0, epoch=1), follow(log, 1, epoch=1), follow(log, 2, epoch=4)]
    assert all_batches(log) == written
    assert log.leader_epochs.entries == [EpochStart(1, 0), EpochStart(4, 2)]


def test_followed_epochs_are_saved_before_their_first_batch() -> None:
    disk = new_disk()
    log = open_partition(disk)
    follow(log, 0, epoch=4)
    assert open_partition(disk.kill()).leader_epochs.entries == [EpochStart(4, 0)]


def test_a_followers_segments_roll_where_the_leaders_would() -> None:
    follower, leader = open_partition(new_disk()), open_partition(new_disk())
    for offset in range(25):
        append(leader)
        follow(follower, offset)
    assert base_offsets(follower) == base_offsets(leader)


def test_a_gap_that_compaction_left_stays_and_is_never_between_two_segments() -> None:
    log = open_partition(new_disk())
    for offset in range(10):
        follow(log, offset)
    follow(log, 500)
    assert base_offsets(log) == [0, 10]
    assert offsets(all_batches(log))[-1] == (500, 500)
    assert offsets(all_batches(open_partition(log.disk)))[-1] == (500, 500), "recovery does not mistake the gap for lost records"


def test_a_gap_too_wide_for_an_index_starts_a_segment() -> None:
    log = open_partition(new_disk())
    far = 5 * 2**31
    follow(log, 0)
    follow(log, far)
    assert base_offsets(log) == [0, far]


def test_a_follower_appends_a_batch_larger_than_a_segment() -> None:
    log = open_partition(new_disk())
    follow(log, 0, batch=data(value=bytes(SMALL.segment_bytes)))
    follow(log, 1)
    assert log.log_end_offset == 2


def test_a_follower_tracks_producers() -> None:
    log = open_partition(new_disk())
    follow(log, 0, batch=sent(9, 0, count=3))
    assert log.producers.producers[9].last_sequence == 2
