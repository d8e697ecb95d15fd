"""When a group counts as stable."""

from __future__ import annotations

from bench.members import is_stable

LEFT, RIGHT = frozenset({0, 1}), frozenset({2, 3})


def test_a_group_is_stable_when_its_members_own_everything_once() -> None:
    assert is_stable([(7, LEFT), (7, RIGHT)], 4)


def test_a_group_that_leaves_a_partition_unread_is_not_stable() -> None:
    assert not is_stable([(7, LEFT), (7, frozenset({2}))], 4)
    assert not is_stable([(7, LEFT), (7, frozenset())], 4)


def test_a_partition_that_two_members_own_does_not_stand_in_for_another() -> None:
    assert not is_stable([(7, LEFT), (7, frozenset({1, 2}))], 4)


def test_members_of_two_generations_are_not_one_group() -> None:
    assert not is_stable([(7, LEFT), (8, RIGHT)], 4)
