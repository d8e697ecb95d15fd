"""Limits of replication: settings of brokers that no file can have, and who is limited: settings of topics."""

from __future__ import annotations

import pytest

from tests.conformance.differential.pair import Pair
from tests.conformance.differential.test_configs import BROKER, SET, TOPIC, altered, describing

LIMITS = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.mark.parametrize("broker", ["1", ""])
def test_limits_are_shown_while_they_are_set(pair: Pair, broker: str) -> None:
    everything = describing((BROKER, "1"), (BROKER, ""))
    with altered(pair, BROKER, broker, *((name, SET, "1000") for name in LIMITS)):
        pair.same(everything)
    pair.same(everything)


def test_limits_for_all_and_for_one(pair: Pair) -> None:
    with altered(pair, BROKER, "", (LIMITS[0], SET, "1000")), altered(pair, BROKER, "1", (LIMITS[0], SET, "2000")):
        pair.same(describing((BROKER, "1"), (BROKER, "")))


def test_who_is_limited(pair: Pair) -> None:
    pair.create("limited")
    for replicas in ("*", "0:1", "0:1,1:2", ""):
        with altered(pair, TOPIC, "limited", ("leader.replication.throttled.replicas", SET, replicas)):
            pair.same(describing((TOPIC, "limited")))
