from __future__ import annotations

import pytest

from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.settings import RETRY_BACKOFF_MS_MAX, ShareGroupSettings
from tests.unit.sharing.core.desk import ACCEPT, GAP, LOCK_MS, REJECT, RELEASE, RENEW, Desk

NOT_ACQUIRED = "INVALID_RECORD_STATE: The batch cannot be acknowledged. The batch is not in the acquired state."
OFFSET_NOT_ACQUIRED = "INVALID_RECORD_STATE: The offset cannot be acknowledged. The offset is not acquired."


@pytest.fixture
def desk() -> Desk:
    """Member a holds offsets 0 to 9."""
    desk = Desk()
    desk.acquire((0, 9))
    return desk


def test_accepted_offsets_at_the_start_move_the_window_once_they_are_written(desk: Desk) -> None:
    change = desk.begin((0, 9, ACCEPT))
    assert isinstance(change, DeliveryChange)
    assert (desk.partition.start_offset, desk.partition.complete_count, change.batches) == (0, 10, [(0, 9, 2, 1)])
    desk.partition.finish(change, written=True)
    assert desk.shown == "10..10: "


def test_accepted_offsets_behind_others_are_written_as_one_range(desk: Desk) -> None:
    change = desk.acknowledge((3, 9, ACCEPT))
    assert change.batches == [(3, 9, 2, 1)]
    assert desk.partition.complete_count == 7
    assert desk.shown == "0..10: 0-2 acquired 1, 3-9 acknowledged 1"


def test_one_type_for_each_offset_is_written_in_runs(desk: Desk) -> None:
    change = desk.acknowledge((0, 9, [1, 1, 2, 2, 3, 0, 1, 1, 1, 2]))
    assert change.batches == [(0, 1, 2, 1), (2, 3, 0, 1), (4, 5, 4, 1), (6, 8, 2, 1), (9, 9, 0, 1)]
    assert desk.shown == "2..10: 2-3 available 1, 4-4 archived 1, 5-5 archived 1, 6-8 acknowledged 1, 9-9 available 1"


def test_a_gap_is_archived(desk: Desk) -> None:
    desk.acknowledge((4, 4, GAP))
    assert "4-4 archived 1" in desk.shown


def test_a_range_may_span_several_deliveries(desk: Desk) -> None:
    desk.acquire((10, 19))
    desk.acknowledge((5, 14, REJECT))
    assert desk.shown == "0..20: 0-4 acquired 1, 5-9 archived 1, 10-14 archived 1, 15-19 acquired 1"


def test_a_release_at_the_delivery_limit_archives(desk: Desk) -> None:
    desk.partition.settings = ShareGroupSettings(delivery_count_limit=2)
    desk.acknowledge((0, 9, RELEASE))
    desk.acquire((0, 9))
    desk.acknowledge((5, 9, RELEASE))
    assert desk.shown == "0..10: 0-4 acquired 2, 5-9 archived 2"


# -- refusals --------------------------------------------------------------------------------------


def test_offsets_of_another_member_are_refused(desk: Desk) -> None:
    assert desk.refused((0, 9, ACCEPT), member="b") == "INVALID_RECORD_STATE: Member is not the owner of batch record"
    desk.acknowledge((0, 0, ACCEPT))
    assert desk.refused((1, 9, ACCEPT), member="b") == "INVALID_RECORD_STATE: Member is not the owner of offset"


def test_offsets_that_are_not_acquired_are_refused(desk: Desk) -> None:
    desk.acquire((10, 19))
    desk.acknowledge((10, 19, RELEASE))
    assert desk.refused((10, 19, ACCEPT)) == NOT_ACQUIRED
    desk.acknowledge((5, 5, ACCEPT))
    assert desk.refused((5, 5, ACCEPT)) == OFFSET_NOT_ACQUIRED


def test_offsets_that_were_never_fetched_are_refused(desk: Desk) -> None:
    assert "The first offset in request is past" in desk.refused((10, 12, ACCEPT))
    assert "The last offset in request is past" in desk.refused((5, 10, ACCEPT))
    assert desk.refused((5, 10, ACCEPT)).startswith("INVALID_REQUEST")
    assert Desk().refused((0, 0, ACCEPT)).startswith("INVALID_RECORD_STATE: Batch record not found.")


def test_offsets_below_the_window_are_ignored(desk: Desk) -> None:
    desk.acknowledge((0, 4, ACCEPT))
    assert desk.acknowledge((0, 4, ACCEPT)).empty
    assert desk.acknowledge((0, 7, ACCEPT)).batches == [(5, 7, 2, 1)]
    assert desk.shown == "8..10: 8-9 acquired 1"


def test_a_refused_range_undoes_the_ranges_before_it(desk: Desk) -> None:
    desk.refused((0, 4, ACCEPT), (5, 12, ACCEPT))
    assert desk.shown == "0..10: 0-4 acquired 1, 5-9 acquired 1"
    assert desk.partition.complete_count == 0
    desk.acknowledge((0, 9, ACCEPT))


def test_an_offset_named_twice_is_refused(desk: Desk) -> None:
    assert desk.refused((0, 4, ACCEPT), (4, 9, ACCEPT)) == OFFSET_NOT_ACQUIRED


# -- two phases ------------------------------------------------------------------------------------


def test_offsets_of_an_unfinished_change_are_neither_delivered_nor_acknowledged(desk: Desk) -> None:
    change = desk.begin((0, 9, RELEASE))
    assert isinstance(change, DeliveryChange)
    assert desk.partition.next_fetch_offset(desk.now_ms) == 10
    assert desk.refused((0, 9, ACCEPT)) == NOT_ACQUIRED
    assert desk.partition.finish(change, written=True)
    assert desk.partition.next_fetch_offset(desk.now_ms) == 0


def test_a_change_that_cannot_be_written_is_rolled_back(desk: Desk) -> None:
    desk.acknowledge((0, 9, ACCEPT), written=False)
    assert desk.shown == "0..10: 0-9 acquired 1"
    assert desk.partition.complete_count == 0
    desk.acknowledge((0, 9, ACCEPT))
    assert desk.shown == "10..10: "


def test_a_lock_that_ended_during_a_failed_change_ends_after_the_rollback(desk: Desk) -> None:
    change = desk.begin((0, 9, ACCEPT))
    assert isinstance(change, DeliveryChange)
    assert desk.pass_time(LOCK_MS) == []
    desk.partition.finish(change, written=False)
    assert desk.partition.alarm_ms <= desk.now_ms
    desk.pass_time(0)
    assert desk.shown == "0..10: 0-9 available 1"


def test_the_window_does_not_pass_an_unfinished_change(desk: Desk) -> None:
    first = desk.begin((0, 4, ACCEPT))
    second = desk.begin((5, 9, ACCEPT))
    assert isinstance(first, DeliveryChange)
    assert isinstance(second, DeliveryChange)
    desk.partition.finish(second, written=True)
    assert desk.partition.start_offset == 0
    desk.partition.finish(first, written=True)
    assert desk.partition.start_offset == 10


# -- renewing, sessions, backoff, dead letters -----------------------------------------------------


def test_a_renewed_lock_lasts_longer_and_nothing_is_written(desk: Desk) -> None:
    desk.pass_time(LOCK_MS - 1)
    assert desk.acknowledge((0, 4, RENEW)).empty
    desk.pass_time(1)
    assert desk.shown == "0..10: 0-4 acquired 1, 5-9 available 1"
    assert desk.partition.alarm_ms == desk.now_ms + LOCK_MS - 1


def test_locks_of_a_group_without_renewals_are_not_renewed(desk: Desk) -> None:
    desk.partition.settings = ShareGroupSettings(renew_enabled=False)
    assert desk.refused((0, 4, RENEW)) == "INVALID_RECORD_STATE: Renewing acquisition locks is not enabled for the group."


def test_the_end_of_a_session_releases_only_the_records_of_its_member(desk: Desk) -> None:
    desk.acquire((10, 19), member="b")
    change = desk.partition.release("a")
    assert change.batches == [(0, 9, 0, 1)]
    desk.partition.finish(change, written=True)
    assert desk.shown == "0..20: 0-9 available 1, 10-19 acquired 1"


def test_a_released_record_stays_hidden_for_a_time_that_doubles(desk: Desk) -> None:
    desk.partition.settings = ShareGroupSettings(retry_backoff_ms=100)
    desk.acknowledge((0, 9, RELEASE))
    assert desk.acquire((0, 9), (10, 19), member="b") == [(10, 19, 1)]
    assert desk.partition.alarm_ms == desk.now_ms + 100
    desk.pass_time(100)
    assert desk.acquire((0, 9)) == [(0, 9, 2)]
    desk.acknowledge((0, 9, RELEASE))
    desk.pass_time(199)
    assert desk.acquire((0, 9)) == []
    desk.pass_time(1)
    assert desk.acquire((0, 9)) == [(0, 9, 3)]


def test_the_backoff_has_a_maximum() -> None:
    assert ShareGroupSettings(retry_backoff_ms=1000).hidden_ms(60) == RETRY_BACKOFF_MS_MAX


def test_rejected_records_become_dead_letters_where_the_group_wants_them(desk: Desk) -> None:
    desk.partition.settings = ShareGroupSettings(dead_letter_topic="dlq.t")
    change = desk.acknowledge((0, 3, REJECT), (4, 5, GAP), (6, 6, ACCEPT))
    assert [each[:3] for each in change.letters] == [(0, 3, 1)]


def test_a_lock_that_ends_at_the_limit_waits_for_the_dead_letters() -> None:
    desk = Desk(settings=ShareGroupSettings(delivery_count_limit=2, dead_letter_topic="dlq.t"))
    desk.acquire((0, 9))
    desk.pass_time(LOCK_MS)
    desk.acquire((0, 9))
    desk.now_ms += LOCK_MS
    (change,) = desk.partition.end_locks(desk.now_ms)
    assert [each[:3] for each in change.letters] == [(0, 9, 2)]
    assert desk.shown == "0..10: 0-9 archived 2 changing"
    desk.partition.finish(change, written=True)
    assert desk.shown == "10..10: "
