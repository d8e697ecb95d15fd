from __future__ import annotations

import pytest

from barnabas.cli.consume.assignment import check_patterns, matching_topics
from barnabas.cli.errors import Refused

EXISTING = ["orders", "orders-eu", "payments", "old.orders", "__consumer_offsets"]


@pytest.mark.parametrize(
    ("arguments", "topics"),
    [
        (["orders"], ["orders"]),
        (["^orders"], ["orders", "orders-eu"]),
        (["^orders$"], ["orders"]),
        (["^.*orders"], ["old.orders", "orders", "orders-eu"]),
        (["payments", "^pay", "payments"], ["payments"]),
        (["^.*"], ["old.orders", "orders", "orders-eu", "payments"]),
        (["^__consumer"], ["__consumer_offsets"]),
        (["^(a|orders|payments)$"], ["orders", "payments"]),
        (["^nope"], []),
    ],
)
def test_an_argument_that_begins_with_a_caret_is_a_pattern(arguments: list[str], topics: list[str]) -> None:
    assert matching_topics(arguments, EXISTING) == topics


def test_a_pattern_without_a_caret_is_recognised() -> None:
    with pytest.raises(Refused, match=r"No topic can have the name orders.\*; a pattern begins with \^, as in '\^orders.\*'."):
        check_patterns(["orders.*"])
    with pytest.raises(Refused, match=r"The pattern \^orders\( is invalid"):
        check_patterns(["^orders("])
    check_patterns(["orders.eu-1_x", "^orders.*"])
