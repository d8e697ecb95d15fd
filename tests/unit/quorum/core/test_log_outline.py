"""Where two logs diverge, computed from the epochs of their batches alone."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.quorum.core.log_outline import Diverging, EpochStart, LogOutline, OffsetAndEpoch, Snapshotted, Valid
from tests.unit.quorum.core.made import log_of
from tests.unit.records.made import repeatable

LOG = log_of((1, 0), (3, 4), (6, 9), end=12)


@pytest.mark.parametrize(("epoch", "end"), [(0, (0, 0)), (1, (4, 1)), (2, (4, 1)), (3, (9, 3)), (5, (9, 3)), (6, (12, 6)), (9, (12, 6))])
def test_the_outline_finds_the_end_of_an_epoch(epoch: int, end: tuple[int, int]) -> None:
    assert LOG.end_offset_for(epoch) == end


def test_an_epoch_before_the_log_ended_with_its_snapshot() -> None:
    log = log_of((3, 5), end=9, start=5, snapshots=[(5, 2)])
    assert log.end_offset_for(1) == (5, 2)
    assert log.end == (9, 3)
    assert log_of(end=5, start=5, snapshots=[(5, 2)]).end == (5, 2)


@pytest.mark.parametrize(
    ("offset", "epoch", "verdict"),
    [
        (0, 0, Valid()),
        (12, 6, Valid()),
        (7, 3, Valid()),
        (13, 6, Diverging(OffsetAndEpoch(12, 6))),
        (10, 3, Diverging(OffsetAndEpoch(9, 3))),
        (5, 2, Diverging(OffsetAndEpoch(4, 1))),
    ],
)
def test_the_outline_recognises_prefixes_of_its_log(offset: int, epoch: int, verdict: object) -> None:
    assert LOG.validate(offset, epoch) == verdict


def test_a_snapshot_at_offset_zero_counts_as_no_snapshot() -> None:
    """It only holds the first voters, so there is nothing to fetch."""
    log = log_of((1, 0), end=3, snapshots=[(0, 0)])
    assert log.validate(0, 0) == Valid()
    assert log_of((1, 0), end=3, snapshots=[(2, 1)]).validate(0, 0) == Snapshotted(OffsetAndEpoch(2, 1))


def test_trimming_keeps_the_epoch_that_spans_the_new_start() -> None:
    log = log_of((1, 0), (3, 4), (6, 9), end=12)
    log.trimmed(6, [OffsetAndEpoch(6, 3)])
    assert log.epochs == [EpochStart(3, 6), EpochStart(6, 9)]
    assert log.start_offset == 6


def outline(epochs: list[int]) -> LogOutline:
    log = LogOutline()
    for offset, epoch in enumerate(epochs):
        log.extend(offset + 1, [EpochStart(epoch, offset)])
    return log


@repeatable
@given(
    st.lists(st.integers(1, 4), max_size=6).map(sorted),
    st.lists(st.integers(5, 8), max_size=6).map(sorted),
    st.lists(st.integers(5, 8), max_size=6).map(sorted),
)
def test_a_follower_that_truncates_to_the_diverging_epoch_has_a_prefix_of_the_log_of_the_leader(
    shared: list[int], leader_tail: list[int], follower_tail: list[int]
) -> None:
    """Two leaders never share an epoch, so the follower's tail has only epochs that the leader's
    tail does not have."""
    mine = [epoch for epoch in follower_tail if epoch not in leader_tail]
    leader, follower = outline(shared + leader_tail), outline(shared + mine)
    for _ in range(20):
        verdict = leader.validate(follower.end_offset, follower.last_epoch)
        if verdict == Valid():
            break
        assert isinstance(verdict, Diverging)
        cut = follower.truncation_point(verdict.end)
        assert len(shared) <= cut < follower.end_offset
        follower.truncate(cut)
    assert follower.end_offset >= len(shared)
    kept = (shared + mine)[: follower.end_offset]
    assert kept == (shared + leader_tail)[: follower.end_offset]
