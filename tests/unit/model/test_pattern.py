"""Patterns match whole names, and none takes long."""

from __future__ import annotations

import pytest

from barnabas.model.pattern import PATTERN_LENGTH_MAX, matcher, matching

NAMES = ["orders", "orders-eu", "my-orders", "payments"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("orders", {"orders"}),
        ("orders.*", {"orders", "orders-eu"}),
        (".*orders.*", {"orders", "orders-eu", "my-orders"}),
        ("orders|payments", {"orders", "payments"}),
        ("(orders|payments)", {"orders", "payments"}),
        ("[mp].*", {"my-orders", "payments"}),
        ("nothing", set()),
    ],
)
def test_a_pattern_matches_whole_names(pattern: str, found: set[str]) -> None:
    assert matching(pattern, NAMES) == found


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?=a)b", r"(a)\1", "a" * (PATTERN_LENGTH_MAX + 1)])
def test_a_pattern_that_re2_cannot_read_is_refused_with_a_reason(pattern: str) -> None:
    assert isinstance(matcher(pattern), str)
    assert matching(pattern, NAMES) == set()


def test_a_pattern_that_makes_backtracking_explode_is_harmless() -> None:
    assert matching("(a+)+b", ["a" * 249]) == set()
