from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from barnabas.coordinators.share.persister import NO_START_OFFSET, StateBatch
from barnabas.coordinators.share.state_batches import combine

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
Ranges = list[tuple[int, int, int, int]]


def combined(batches: Ranges, start_offset: int = NO_START_OFFSET) -> Ranges:
    return [(*each,) for each in combine([StateBatch(*batch) for batch in batches], start_offset)]


@pytest.mark.parametrize(
    ("given_batches", "expected"),
    [
        ([], []),
        ([(0, 9, 0, 1)], [(0, 9, 0, 1)]),
        # Neighbours with one state become one batch, others do not.
        ([(0, 9, 0, 1), (10, 19, 0, 1)], [(0, 19, 0, 1)]),
        ([(0, 9, 0, 1), (11, 19, 0, 1)], [(0, 9, 0, 1), (11, 19, 0, 1)]),
        ([(0, 9, 0, 1), (10, 19, 0, 2)], [(0, 9, 0, 1), (10, 19, 0, 2)]),
        # The higher delivery count counts, wherever it stands.
        ([(0, 9, 0, 1), (0, 9, 2, 2)], [(0, 9, 2, 2)]),
        ([(0, 9, 2, 2), (0, 9, 0, 1)], [(0, 9, 2, 2)]),
        ([(0, 9, 0, 1), (3, 5, 2, 2)], [(0, 2, 0, 1), (3, 5, 2, 2), (6, 9, 0, 1)]),
        ([(0, 9, 0, 3), (3, 5, 2, 2)], [(0, 9, 0, 3)]),
        ([(0, 9, 0, 1), (5, 14, 2, 2)], [(0, 4, 0, 1), (5, 14, 2, 2)]),
        ([(0, 9, 0, 2), (5, 14, 2, 1)], [(0, 9, 0, 2), (10, 14, 2, 1)]),
        ([(0, 9, 0, 1), (5, 9, 2, 1)], [(0, 4, 0, 1), (5, 9, 2, 1)]),
        ([(0, 4, 0, 2), (0, 9, 0, 1)], [(0, 4, 0, 2), (5, 9, 0, 1)]),
        ([(0, 4, 0, 1), (0, 9, 0, 2)], [(0, 9, 0, 2)]),
    ],
)
def test_overlapping_batches_are_combined_by_delivery_count_and_state(given_batches: Ranges, expected: Ranges) -> None:
    assert combined(given_batches) == expected


def test_batches_below_the_start_are_dropped_and_one_across_it_is_cut() -> None:
    assert combined([(0, 9, 0, 1), (10, 19, 2, 1), (20, 29, 0, 1)], 15) == [(15, 19, 2, 1), (20, 29, 0, 1)]
    assert combined([(0, 9, 0, 1)], 10) == []


ranges = st.tuples(st.integers(0, 40), st.integers(0, 12), st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]), st.integers(1, 3))


@given(st.lists(ranges.map(lambda each: (each[0], each[0] + each[1], each[2], each[3])), max_size=12), st.integers(-1, 40))
def test_every_offset_has_the_highest_count_and_state_of_its_batches(batches: Ranges, start_offset: int) -> None:
    result = combined(batches, start_offset)
    assert all(left[1] < right[0] for left, right in pairwise(result))
    found = {offset: (count, state) for first, last, state, count in result for offset in range(first, last + 1)}
    expected: dict[int, tuple[int, int]] = {}
    for first, last, state, count in batches:
        for offset in range(max(first, start_offset), last + 1):
            expected[offset] = max(expected.get(offset, (0, 0)), (count, state))
    assert found == expected
