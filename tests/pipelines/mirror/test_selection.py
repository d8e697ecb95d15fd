"""Which topics are mirrored, and their names on the target."""

from __future__ import annotations

import pytest

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.mirror.selection import Policy, TopicSelection

NAMES = [
    "orders",
    "orders.eu",
    "payments",
    "__consumer_offsets",
    "A.offset-syncs.internal",
    "B.orders",
    "A.B.orders",
    "A.orders",
    "C.orders",
]


def selection(*topics: str, policy: Policy = Policy.RENAME, exclude: tuple[str, ...] = ()) -> TopicSelection:
    return TopicSelection(topics, policy, "A", "B", exclude)


def test_patterns_match_whole_names() -> None:
    assert selection("orders").wanted(NAMES) == ["orders"]
    assert selection("orders.*").wanted(NAMES) == ["orders", "orders.eu"]
    assert selection("orders,pay.*").wanted(NAMES) == ["orders", "payments"]
    assert selection("o[a-z]{3,5}").wanted(NAMES) == ["orders"]


def test_excluded_topics_do_not_match() -> None:
    assert selection(".*", exclude=(r"orders\..*",)).wanted(NAMES) == ["C.orders", "orders", "payments"]


def test_topics_from_the_target_do_not_return_to_it() -> None:
    assert selection(".*orders").wanted(NAMES) == ["C.orders", "orders"]
    assert selection(".*orders", policy=Policy.IDENTITY).wanted(NAMES) == ["A.B.orders", "A.orders", "B.orders", "C.orders", "orders"]


@pytest.mark.parametrize(
    "name",
    [
        "__transaction_state",
        "B.checkpoints.internal",
        "connect-internal",
        "mm2-offset-syncs.x.internal",
        "heartbeats",
        "barnabas.pipelines.batches",
    ],
)
def test_internal_topics_are_never_mirrored(name: str) -> None:
    assert selection(".*", policy=Policy.IDENTITY).wanted([name]) == []


def test_topics_get_their_names_on_the_target() -> None:
    assert selection(".*").target_name("orders") == "A.orders"
    assert selection(".*", policy=Policy.IDENTITY).target_name("orders") == "orders"


def test_an_invalid_pattern_is_refused() -> None:
    with pytest.raises(CannotRun, match=r"--topics takes regular expressions, but 'orders\[' is not one"):
        selection("orders[")
    with pytest.raises(CannotRun, match="--from-alias takes letters"):
        TopicSelection([".*"], Policy.RENAME, "a.b", "c")
