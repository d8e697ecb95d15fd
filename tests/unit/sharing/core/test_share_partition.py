from __future__ import annotations

import pytest

from barnabas.sharing.core.share_partition import InvalidShareState
from tests.unit.sharing.core.desk import ACCEPT, RELEASE, Desk


def test_a_loaded_window_begins_behind_the_offsets_that_are_done() -> None:
    desk = Desk(10, [(10, 19, 2, 1), (20, 29, 0, 2)])
    assert desk.shown == "20..30: 20-29 available 2"


def test_offsets_without_a_written_state_are_available_as_if_never_delivered() -> None:
    desk = Desk(10, [(15, 19, 2, 1), (25, 29, 4, 3)])
    assert desk.shown == "10..30: 10-14 available 0, 15-19 acknowledged 1, 20-24 available 0, 25-29 archived 3"
    assert desk.partition.complete_count == 10
    assert desk.acquire((5, 40)) == [(10, 14, 1), (20, 24, 1), (30, 40, 1)]


def test_the_offsets_of_a_gap_are_delivered_up_to_the_limit_and_the_end_of_a_batch() -> None:
    desk = Desk(0, [(100, 109, 2, 1)])
    assert desk.acquire(*((first, first + 9) for first in range(0, 110, 10)), limit=25) == [(0, 29, 1)]


def test_a_delivery_count_survives_the_leader() -> None:
    desk = Desk(0, [(0, 9, 0, 3)])
    assert desk.acquire((0, 9)) == [(0, 4, 4)]


def test_state_that_overlaps_is_not_loaded() -> None:
    with pytest.raises(InvalidShareState):
        Desk(0, [(0, 9, 2, 1), (5, 12, 2, 1)])


def test_offsets_below_the_start_of_the_log_leave_the_window_whatever_their_state() -> None:
    desk = Desk()
    desk.acquire((0, 9), (10, 19))
    desk.acquire((20, 29), member="b")
    desk.acknowledge((5, 9, ACCEPT), (10, 12, RELEASE))
    desk.partition.log_starts_at(11)
    assert desk.shown == "11..30: 11-12 available 1, 13-19 acquired 1, 20-29 acquired 1"
    assert desk.partition.complete_count == 0
    desk.acknowledge((13, 19, ACCEPT))


def test_a_log_that_begins_behind_the_window_empties_it() -> None:
    desk = Desk()
    desk.acquire((0, 9))
    desk.partition.log_starts_at(50)
    assert desk.shown == "50..50: "
    assert desk.partition.next_fetch_offset(desk.now_ms) == 50


def test_a_change_of_offsets_that_left_the_log_finishes_without_effect() -> None:
    desk = Desk()
    desk.acquire((0, 9), (10, 19))
    change = desk.begin((0, 14, ACCEPT))
    desk.partition.log_starts_at(12)
    assert not isinstance(change, tuple)
    desk.partition.finish(change, written=False)
    assert desk.shown == "12..20: 12-14 acquired 1, 15-19 acquired 1"
    assert desk.partition.complete_count == 0


def test_many_types_of_a_large_batch_are_split_in_one_step() -> None:
    desk = Desk()
    desk.acquire((0, 99_999), limit=100_000)
    types = [ACCEPT, RELEASE] * 50_000
    desk.acknowledge((0, 99_999, types))
    assert len(desk.partition.window.runs) == 99_999
