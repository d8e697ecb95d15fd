from __future__ import annotations

from barnabas.console.core.group_lag import GroupOffset
from barnabas.console.core.group_order import GroupMeasure, measure, ordered_by_number
from barnabas.console.core.topic import Bounds, TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_the_lag_of_a_group_is_the_sum_of_its_partitions() -> None:
    offsets = {FIRST: GroupOffset(3), SECOND: GroupOffset(0, lag=4)}
    assert measure(2, offsets, {FIRST: Bounds(0, 10)}) == GroupMeasure(2, 2, 11)


def test_a_group_with_an_unknown_end_or_without_offsets_has_no_lag() -> None:
    assert measure(0, {FIRST: GroupOffset(3), SECOND: GroupOffset(0)}, {FIRST: Bounds(0, 10)}) == GroupMeasure(0, 2, None)
    assert measure(1, {}, {}) == GroupMeasure(1, 0, None)


def test_groups_without_a_number_come_last_in_both_directions() -> None:
    numbers = {"a": 5, "b": None, "c": 7, "d": 5}
    for descending, expected in ((True, "cadb"), (False, "adcb")):
        assert "".join(ordered_by_number(numbers, lambda each: each, lambda each: numbers[each], descending=descending)) == expected
