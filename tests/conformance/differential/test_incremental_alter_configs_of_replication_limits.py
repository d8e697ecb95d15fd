"""Replication limits: dynamic settings of brokers, and the throttled replicas of topics."""

from __future__ import annotations

import pytest

from tests.conformance.differential.config_requests import BROKER, SET, TOPIC, altered, describing
from tests.conformance.differential.pair import Pair

LIMITS = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.mark.parametrize("broker", ["1", ""])
def test_incremental_alter_configs_shows_replication_limits_while_they_are_set(pair: Pair, broker: str) -> None:
    everything = describing((BROKER, "1"), (BROKER, ""))
    with altered(pair, BROKER, broker, *((name, SET, "1000") for name in LIMITS)):
        pair.same(everything)
    pair.same(everything)


def test_incremental_alter_configs_limits_all_brokers_or_one(pair: Pair) -> None:
    with altered(pair, BROKER, "", (LIMITS[0], SET, "1000")), altered(pair, BROKER, "1", (LIMITS[0], SET, "2000")):
        pair.same(describing((BROKER, "1"), (BROKER, "")))


def test_incremental_alter_configs_names_the_throttled_replicas_of_a_topic(pair: Pair) -> None:
    pair.create("limited")
    for replicas in ("*", "0:1", "0:1,1:2", ""):
        with altered(pair, TOPIC, "limited", ("leader.replication.throttled.replicas", SET, replicas)):
            pair.same(describing((TOPIC, "limited")))
