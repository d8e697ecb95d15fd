"""Which remote segments expire."""

from __future__ import annotations

from collections.abc import Collection

from barnabas.tiered.expiry_plan import ABANDONED_COPY_MS, ExpiryPlan, ExpiryReason, plan_expiry, remote_size_bytes
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentId
from tests.unit.tiered.made import DELETING, NOW_MS, catalogue, lineage, segment, segment_id, update

DAY_MS = 86_400_000


def ten_days() -> RemoteCatalogue:
    """Ten segments of 100 bytes and ten offsets, each a day newer than the one before; the last one
    is from now."""
    return catalogue(*(segment(n, n * 10, n * 10 + 9, max_timestamp=NOW_MS - (9 - n) * DAY_MS) for n in range(10)))


def plan(
    made: RemoteCatalogue,
    *,
    epochs: dict[int, int] | None = None,
    log_start: int = 0,
    log_end: int = 120,
    local: int = 0,
    retention_ms: int = -1,
    retention_bytes: int = -1,
    being_copied: Collection[RemoteSegmentId] = (),
    now_ms: int = NOW_MS,
) -> ExpiryPlan:
    return plan_expiry(
        made,
        lineage({0: 0} if epochs is None else epochs),
        log_start_offset=log_start,
        log_end_offset=log_end,
        local_only_bytes=local,
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        now_ms=now_ms,
        being_copied=being_copied,
    )


def numbers(made: ExpiryPlan) -> list[int]:
    return [int.from_bytes(each.segment.id.uuid, "big") for each in made.expiring]


def test_without_limits_everything_stays() -> None:
    assert plan(ten_days()) == ExpiryPlan()


def test_segments_older_than_the_retention_time_expire_and_the_log_starts_after_them() -> None:
    made = plan(ten_days(), retention_ms=7 * DAY_MS)
    assert numbers(made) == [0, 1]
    assert made.log_start_offset == 20
    assert {each.reason for each in made.expiring} == {ExpiryReason.RETENTION_TIME}


def test_the_retention_size_counts_remote_and_local_bytes_together() -> None:
    made = plan(ten_days(), local=250, retention_bytes=1000)
    # The log is 250 bytes too large: two segments expire, and a third would be too many.
    assert numbers(made) == [0, 1]
    assert made.log_start_offset == 20
    assert numbers(plan(ten_days(), local=0, retention_bytes=1000)) == []
    assert numbers(plan(ten_days(), local=0, retention_bytes=0)) == list(range(10))


def test_segments_that_expire_by_time_count_for_the_size() -> None:
    assert numbers(plan(ten_days(), retention_ms=7 * DAY_MS, retention_bytes=700)) == [0, 1, 2]


def test_a_recent_segment_protects_the_segments_after_it() -> None:
    young = segment(1, 0, 9, max_timestamp=NOW_MS)
    old = segment(2, 10, 19, max_timestamp=0)
    assert numbers(plan(catalogue(young, old), retention_ms=DAY_MS)) == []


def test_segments_below_the_log_start_offset_expire_and_the_offset_stays() -> None:
    made = plan(ten_days(), log_start=25, epochs={0: 25})
    assert numbers(made) == [0, 1]
    assert made.log_start_offset is None
    assert {each.reason for each in made.expiring} == {ExpiryReason.LOG_START}


def test_segments_from_before_the_first_known_epoch_expire() -> None:
    made = catalogue(segment(1, 0, 9, {0: 0}), segment(2, 10, 19, {0: 10, 1: 15}), segment(3, 20, 29, {2: 20}))
    assert numbers(plan(made, epochs={2: 20}, log_start=20)) == [1, 2]
    assert numbers(plan(made, epochs={1: 15, 2: 20}, log_start=15)) == [1]


def test_a_log_that_does_not_know_its_first_epochs_expires_no_segment_of_another_history() -> None:
    made = catalogue(segment(1, 0, 9, {0: 0}), segment(2, 10, 19, {2: 10}))
    assert numbers(plan(made, epochs={2: 10}, log_start=0)) == []
    assert numbers(plan(made, epochs={2: 10}, log_start=10)) == [1]


def test_a_deletion_that_was_begun_is_finished() -> None:
    made = ten_days()
    made.apply(update(5, DELETING))
    found = plan(made)
    assert numbers(found) == [5]
    assert found.expiring[0].reason is ExpiryReason.DELETION_BEGUN


def test_an_abandoned_copy_expires_when_it_is_old() -> None:
    made = ten_days()
    made.apply(segment(20, 100, 109, event_timestamp=NOW_MS))
    assert numbers(plan(made)) == []
    assert numbers(plan(made, now_ms=NOW_MS + ABANDONED_COPY_MS)) == [20]
    assert numbers(plan(made, now_ms=NOW_MS + ABANDONED_COPY_MS, being_copied=[segment_id(20)])) == []


def test_a_segment_that_is_being_copied_is_left_alone() -> None:
    made = RemoteCatalogue()
    made.apply(segment(1, 0, 9, max_timestamp=0))
    assert plan(made, retention_ms=1, retention_bytes=0, being_copied=[segment_id(1)]) == ExpiryPlan()


def test_segments_of_other_histories_neither_count_nor_stop_the_search() -> None:
    stranger = segment(1, 0, 9, {0: 0, 4: 5}, size=10_000)
    made = catalogue(stranger, segment(2, 0, 19, {0: 0}), segment(3, 20, 29, {0: 20}))
    assert remote_size_bytes(made, lineage({0: 0}), 40) == 200
    assert numbers(plan(made, retention_bytes=100)) == [2]


def test_nothing_expires_from_a_log_without_epochs() -> None:
    assert plan(ten_days(), epochs={}, retention_ms=0, retention_bytes=0) == ExpiryPlan()
