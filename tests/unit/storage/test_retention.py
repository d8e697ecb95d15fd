"""Which segments expire, by which rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.storage.log_settings import LogSettings
from barnabas.storage.retention import Expired, Kept, expired

HOUR_MS = 3_600_000
NOW_MS = 100 * HOUR_MS
FOREVER = LogSettings(retention_ms=-1, local_retention_ms=-1)


def segments(*ages_in_hours: int, size_bytes: int = 100) -> list[Kept]:
    """Segments of ten offsets each; the last is active."""
    return [
        Kept(10 * (index + 1), size_bytes, NOW_MS - hours * HOUR_MS, active=index == len(ages_in_hours) - 1)
        for index, hours in enumerate(ages_in_hours)
    ]


def which(
    kept: list[Kept], settings: LogSettings, *, start_offset: int = 0, committed_offset: int = 10**9, remote_end_offset: int = -1
) -> Expired:
    return expired(
        kept,
        settings,
        start_offset=start_offset,
        committed_offset=committed_offset,
        remote_end_offset=remote_end_offset,
        now_ms=NOW_MS,
    )


def test_a_segment_older_than_retention_ms_expires() -> None:
    assert which(segments(9, 8, 3, 1), replace(FOREVER, retention_ms=5 * HOUR_MS)) == Expired(by_time=2)


def test_a_young_segment_protects_the_old_ones_behind_it() -> None:
    assert which(segments(9, 1, 8, 7), replace(FOREVER, retention_ms=5 * HOUR_MS)) == Expired(by_time=1)


def test_a_segment_exactly_as_old_as_retention_ms_stays() -> None:
    assert not which(segments(5, 0), replace(FOREVER, retention_ms=5 * HOUR_MS)).total


def test_a_segment_from_the_future_stays() -> None:
    assert not which(segments(-1, 0), replace(FOREVER, retention_ms=0)).total


def test_an_old_active_segment_expires_unless_it_is_empty() -> None:
    old = segments(9, 8)
    assert which(old, replace(FOREVER, retention_ms=HOUR_MS)).by_time == 2
    assert which([old[0], old[1]._replace(size_bytes=0)], replace(FOREVER, retention_ms=HOUR_MS)).by_time == 1


@pytest.mark.parametrize(("retention_bytes", "going"), [(400, 0), (399, 0), (301, 0), (300, 1), (250, 1), (200, 2), (0, 4), (-1, 0)])
def test_the_oldest_segments_expire_while_retention_bytes_remain(retention_bytes: int, going: int) -> None:
    assert which(segments(4, 3, 2, 1), replace(FOREVER, retention_bytes=retention_bytes)).by_size == going


def test_segments_below_the_log_start_expire_under_any_policy() -> None:
    for deletes, compacts in ((False, False), (False, True), (True, False), (True, True)):
        settings = replace(FOREVER, deletes=deletes, compacts=compacts)
        assert which(segments(3, 2, 1), settings, start_offset=19) == Expired(below_start=1)
        assert which(segments(3, 2, 1), settings, start_offset=30) == Expired(below_start=2)


@pytest.mark.parametrize("compacts", [False, True])
def test_without_the_policy_delete_neither_age_nor_size_counts(compacts: bool) -> None:
    settings = LogSettings(deletes=False, compacts=compacts, retention_ms=0, retention_bytes=0)
    assert not which(segments(9, 8, 7), settings).total


def test_each_rule_counts_only_the_segments_that_earlier_rules_left() -> None:
    settings = replace(FOREVER, retention_ms=2 * HOUR_MS, retention_bytes=300)
    assert which(segments(6, 5, 4, 3, 1), settings, start_offset=10) == Expired(below_start=1, by_size=1, by_time=2)


def test_an_uncommitted_segment_never_expires() -> None:
    assert which(segments(9, 8, 7), replace(FOREVER, retention_ms=0), committed_offset=19).total == 1


TIERED = LogSettings(remote_enabled=True, retention_ms=-1, local_retention_ms=HOUR_MS, local_retention_bytes=-1)


def test_only_remote_segments_of_a_tiered_log_expire() -> None:
    assert which(segments(9, 8, 7, 0), TIERED, remote_end_offset=20).by_time == 2
    assert which(segments(9, 8, 7, 0), TIERED, remote_end_offset=19).by_time == 1
    assert not which(segments(9, 8, 7, 0), TIERED).total


def test_deleted_records_of_a_tiered_log_expire_without_being_remote() -> None:
    assert which(segments(9, 8, 7, 0), TIERED, start_offset=20) == Expired(below_start=2)


def test_an_old_active_segment_of_a_tiered_log_is_closed_so_that_it_can_be_copied() -> None:
    old = segments(9, 8, 7)
    assert which(old, TIERED, remote_end_offset=20) == Expired(by_time=2, close_active=True)
    assert not which(old, TIERED, remote_end_offset=10).close_active
    assert not which(segments(9, 0), TIERED, remote_end_offset=10).close_active
    assert not which([*old[:2], old[2]._replace(size_bytes=0)], TIERED, remote_end_offset=20).close_active


def test_with_copying_disabled_total_retention_applies() -> None:
    settings = replace(TIERED, remote_copy_disabled=True, retention_ms=8 * HOUR_MS)
    assert which(segments(9, 8, 7), settings) == Expired(by_time=1)


def test_a_tiered_log_without_a_policy_still_makes_room_on_the_local_disk() -> None:
    assert which(segments(9, 8, 0), replace(TIERED, deletes=False), remote_end_offset=10).by_time == 1
