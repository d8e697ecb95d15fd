from __future__ import annotations

from collections.abc import Sequence

from barnabas.sharing.core.acquiring import RECORD_LIMIT
from barnabas.sharing.core.settings import ShareGroupSettings
from tests.unit.sharing.core.desk import ACCEPT, LOCK_MS, RELEASE, Desk


def test_a_fetch_acquires_whole_batches() -> None:
    desk = Desk()
    assert desk.acquire((0, 9), (10, 19), (20, 29), limit=15) == [(0, 19, 1)]
    assert desk.shown == "0..20: 0-19 acquired 1"


def test_the_next_fetch_begins_behind_the_acquired_offsets() -> None:
    desk = Desk()
    desk.acquire((0, 9))
    assert desk.partition.next_fetch_offset(desk.now_ms) == 10
    assert desk.acquire((10, 19), member="b") == [(10, 19, 1)]


def test_record_limit_mode_acquires_exactly_the_limit_and_leaves_the_rest_available() -> None:
    desk = Desk()
    assert desk.acquire((0, 9), mode=RECORD_LIMIT, limit=4) == [(0, 3, 1)]
    assert desk.shown == "0..10: 0-3 acquired 1, 4-9 available 0"
    assert desk.acquire((0, 9), (10, 19), mode=RECORD_LIMIT, limit=8, member="b") == [(4, 9, 1), (10, 11, 1)]
    assert desk.shown == "0..20: 0-3 acquired 1, 4-9 acquired 1, 10-11 acquired 1, 12-19 available 0"


def test_a_delivery_is_reported_in_parts_of_the_batch_size() -> None:
    desk = Desk()
    assert desk.acquire((0, 2), (3, 5), (6, 8), (9, 11), batch_size=5) == [(0, 5, 1), (6, 11, 1)]
    assert desk.shown == "0..12: 0-5 acquired 1, 6-11 acquired 1"


def test_a_batch_that_begins_before_the_start_offset_is_delivered_from_the_start_on() -> None:
    desk = Desk(start_offset=5)
    assert desk.acquire((0, 9)) == [(5, 9, 1)]


def test_the_window_begins_at_the_first_record_of_the_log_behind_a_gap() -> None:
    desk = Desk(start_offset=5)
    assert desk.acquire((8, 9)) == [(8, 9, 1)]
    assert desk.shown == "8..10: 8-9 acquired 1"


def test_a_full_window_delivers_nothing_new() -> None:
    desk = Desk(settings=ShareGroupSettings(record_locks_max=100))
    assert desk.acquire((0, 99)) == [(0, 99, 1)]
    assert desk.acquire((100, 109)) == []


def test_the_window_may_exceed_its_limit_by_a_part_of_a_batch() -> None:
    desk = Desk(settings=ShareGroupSettings(record_locks_max=100))
    desk.acquire((0, 98))
    assert desk.acquire((99, 108), (109, 118)) == [(99, 108, 1)]


def test_done_offsets_count_against_the_limit_while_an_earlier_one_is_not_done() -> None:
    desk = Desk(settings=ShareGroupSettings(record_locks_max=100))
    desk.acquire((0, 99))
    desk.acknowledge((1, 99, ACCEPT))
    assert desk.acquire((100, 109)) == []
    desk.acknowledge((0, 0, ACCEPT))
    assert desk.acquire((100, 109)) == [(100, 109, 1)]


def test_a_full_window_delivers_released_offsets_again_and_none_behind_it() -> None:
    desk = Desk(settings=ShareGroupSettings(record_locks_max=100))
    desk.acquire((0, 99))
    desk.acknowledge((20, 29, RELEASE))
    assert desk.acquire((0, 199), member="b") == [(20, 29, 2)]


def test_released_offsets_are_delivered_again_before_new_ones_and_together_with_them() -> None:
    desk = Desk()
    desk.acquire((0, 9))
    desk.acquire((10, 19), member="b")
    desk.acknowledge((0, 9, RELEASE))
    assert desk.acquire((0, 9), (10, 19), (20, 29), member="c") == [(0, 9, 2), (20, 29, 1)]


def test_equal_neighbours_of_a_split_batch_are_reported_together() -> None:
    desk = Desk()
    desk.acquire((0, 9))
    desk.acknowledge((0, 9, [2, 2, 2, 1, 2, 2, 2, 2, 2, 2]))
    assert desk.acquire((0, 9), limit=4, mode=RECORD_LIMIT) == [(0, 2, 2), (4, 4, 2)]
    assert desk.acquire((0, 9), member="b") == [(5, 9, 2)]


def test_a_fetch_that_reaches_only_a_part_of_a_run_acquires_that_part() -> None:
    desk = Desk()
    desk.acquire((0, 9), (10, 19))
    desk.acknowledge((0, 19, RELEASE))
    assert desk.acquire((0, 9), member="b") == [(0, 9, 2)]
    assert desk.acquire((10, 19), member="c") == [(10, 19, 2)]


def test_offsets_that_compaction_removed_are_archived_and_the_window_passes_them() -> None:
    desk = Desk()
    desk.acquire((0, 9))
    desk.acknowledge((0, 9, RELEASE))
    # Offsets 0 to 6 are gone from the log.
    assert desk.acquire((7, 9)) == [(7, 9, 2)]
    assert desk.shown == "7..10: 7-9 acquired 2"


def test_aborted_batches_are_archived_when_they_are_acquired() -> None:
    desk = Desk()
    assert desk.acquire((0, 4), (5, 9), (10, 14), aborted=[(5, 9)]) == [(0, 4, 1), (10, 14, 1)]
    assert desk.shown == "0..15: 0-4 acquired 1, 5-9 archived 1, 10-14 acquired 1"
    assert desk.partition.complete_count == 5


def test_a_window_of_aborted_records_only_moves_on() -> None:
    desk = Desk(settings=ShareGroupSettings(record_locks_max=100))
    assert desk.acquire((0, 99), aborted=[(0, 99)]) == []
    assert desk.shown == "100..100: "


# -- isolation -------------------------------------------------------------------------------------


def fail(desk: Desk, acquired: Sequence[tuple[int, int, int]]) -> None:
    desk.acknowledge(*((first, last, RELEASE) for first, last, _ in acquired))


def test_a_batch_is_delivered_alone_and_in_halves_once_it_failed_half_of_its_attempts() -> None:
    desk = Desk(settings=ShareGroupSettings(delivery_count_limit=6))
    log = (0, 99), (100, 109)
    for _ in range(3):
        fail(desk, desk.acquire((0, 99)))
    # From the fourth delivery on: 100 >> 1, without the batch behind it.
    assert desk.acquire(*log) == [(0, 49, 4)]
    desk.acknowledge((0, 49, RELEASE))
    assert desk.acquire(*log) == [(0, 24, 5)]


def test_a_record_on_its_last_attempt_is_delivered_alone() -> None:
    desk = Desk(settings=ShareGroupSettings(delivery_count_limit=3))
    fail(desk, desk.acquire((0, 9)))
    fail(desk, desk.acquire((0, 9)))
    assert desk.acquire((0, 9), (10, 19)) == [(0, 0, 3)]
    assert desk.acquire((0, 9), (10, 19), member="b") == [(1, 1, 3)]


def test_a_poisonous_record_does_not_archive_its_neighbours() -> None:
    desk = Desk()
    poison = 37
    accepted: set[int] = set()
    for _ in range(200):
        acquired = desk.acquire((0, 99))
        for first, last, _ in acquired:
            if first <= poison <= last:
                desk.acknowledge((first, last, RELEASE))
            else:
                accepted.update(range(first, last + 1))
                desk.acknowledge((first, last, ACCEPT))
    # With five attempts the isolation ends before the record is quite alone; most neighbours live.
    assert len(accepted) >= 75
    assert poison not in accepted


def test_a_batch_that_needs_isolation_is_not_delivered_behind_another() -> None:
    desk = Desk(settings=ShareGroupSettings(delivery_count_limit=6))
    desk.acquire((0, 9))
    for _ in range(3):
        desk.acquire((10, 29), member="b")
        desk.acknowledge((10, 29, RELEASE), member="b")
    desk.acknowledge((0, 9, RELEASE))
    assert desk.acquire((0, 9), (10, 29), (30, 39)) == [(0, 9, 2)]
    assert desk.acquire((10, 29), (30, 39)) == [(10, 19, 4)]


# -- locks -----------------------------------------------------------------------------------------


def test_a_lock_that_ends_makes_its_offsets_available_to_others() -> None:
    desk = Desk()
    desk.acquire((0, 9))
    assert desk.partition.alarm_ms == desk.now_ms + LOCK_MS
    assert desk.pass_time(LOCK_MS - 1) == []
    (change,) = desk.pass_time(1)
    assert change.batches == [(0, 9, 0, 1)]
    assert desk.acquire((0, 9), member="b") == [(0, 9, 2)]


def test_a_lock_that_ends_at_the_delivery_limit_archives_its_offsets() -> None:
    desk = Desk(settings=ShareGroupSettings(delivery_count_limit=2))
    desk.acquire((0, 9))
    desk.pass_time(LOCK_MS)
    desk.acquire((0, 9))
    (change,) = desk.pass_time(LOCK_MS)
    assert change.batches == [(0, 9, 4, 2)]
    assert desk.shown == "10..10: "
