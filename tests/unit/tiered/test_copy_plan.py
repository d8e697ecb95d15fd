"""Which segment is copied next."""

from __future__ import annotations

from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.copy_plan import CopyPlan, LocalSegment, copy_lag, epochs_between, next_copy
from barnabas.tiered.metadata.chain import NOTHING_COPIED
from barnabas.tiered.metadata.segment_state import SegmentState
from tests.unit.tiered.made import NOW_MS, lineage, segment_id

SEGMENTS = [LocalSegment(base, 1000, NOW_MS + base, has_aborted=False) for base in (0, 10, 20, 30)]
EPOCHS = lineage({0: 0, 2: 15})


def plan(copied: int = NOTHING_COPIED, *, start: int = 0, stable: int = 35, segments: list[LocalSegment] = SEGMENTS) -> CopyPlan | None:
    return next_copy(segments, EPOCHS, copied_offset=copied, log_start_offset=start, last_stable_offset=stable)


def bases(copied: int = NOTHING_COPIED, start: int = 0, stable: int = 35) -> int | None:
    made = plan(copied, start=start, stable=stable)
    return None if made is None else made.segment.base_offset


def test_segments_are_copied_in_order_and_never_the_active_one() -> None:
    assert [bases(copied=copied) for copied in (-1, 9, 19, 29, 100)] == [0, 10, 20, None, None]


def test_no_segment_is_copied_before_its_last_transaction_has_ended() -> None:
    assert [bases(stable=stable) for stable in (0, 9, 10, 35)] == [None, None, 0, 0]
    assert bases(copied=9, stable=19) is None


def test_segments_below_the_log_start_are_not_copied() -> None:
    assert [bases(start=start) for start in (0, 5, 10, 12, 30)] == [0, 0, 10, 10, None]


def test_segment_boundaries_of_another_leader_do_not_matter() -> None:
    assert bases(copied=4) == 0
    assert bases(copied=13) == 10


def test_an_empty_segment_is_passed_over() -> None:
    hollow = [SEGMENTS[0]._replace(size_bytes=0), *SEGMENTS[1:]]
    made = plan(segments=hollow)
    assert made is not None
    assert made.segment.base_offset == 10


def test_the_metadata_describes_the_segment() -> None:
    made = plan(copied=9)
    assert made is not None
    metadata = made.metadata(segment_id(4), broker_id=7, now_ms=NOW_MS)
    assert (metadata.start_offset, metadata.end_offset, metadata.size_bytes, metadata.max_timestamp) == (10, 19, 1000, NOW_MS + 10)
    assert metadata.leader_epochs == (EpochStart(0, 10), EpochStart(2, 15))
    assert metadata.state is SegmentState.COPY_SEGMENT_STARTED
    assert metadata.txn_index_empty
    assert made.leader_epochs_to_end == (EpochStart(0, 0), EpochStart(2, 15))


def test_epochs_are_cut_to_a_range() -> None:
    epochs = lineage({1: 5, 3: 10, 4: 20})
    assert epochs_between(epochs, 7, 20) == (EpochStart(1, 7), EpochStart(3, 10))
    assert epochs_between(epochs, 10, 21) == (EpochStart(3, 10), EpochStart(4, 20))
    assert epochs_between(epochs, 0, 5) == ()
    assert epochs_between(epochs, None, 11) == (EpochStart(1, 5), EpochStart(3, 10))


def test_a_segment_without_a_known_epoch_is_not_copied() -> None:
    assert next_copy(SEGMENTS, [], copied_offset=-1, log_start_offset=0, last_stable_offset=40) is None


def test_the_lag_counts_sealed_segments_that_are_not_remote() -> None:
    assert copy_lag(SEGMENTS, NOTHING_COPIED) == (3000, 3)
    assert copy_lag(SEGMENTS, 19) == (1000, 1)
    assert copy_lag(SEGMENTS, 29) == (0, 0)
