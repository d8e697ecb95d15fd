"""Limits on replication: which replicas they concern, and when they hold."""

from __future__ import annotations

import pytest

from barnabas.model.ids import TopicPartition
from barnabas.replication.throttle import UNLIMITED, ByteRate, ReplicationThrottles, Throttle

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ME = 1


def throttle(*entries: str, limit: int = 1000) -> Throttle:
    made = Throttle()
    made.limit = limit
    made.name_replicas("t", entries, ME)
    return made


@pytest.mark.parametrize(("entries", "concerned"), [(("0:1",), [T0]), (("*",), [T0, T1]), (("0:2", "1:1"), [T1]), (("0:2",), []), ((), [])])
def test_the_throttle_applies_to_named_replicas_of_this_broker(entries: tuple[str, ...], concerned: list[TopicPartition]) -> None:
    made = throttle(*entries)
    assert [each for each in (T0, T1) if made.concerns(each)] == concerned


def test_the_throttle_holds_while_the_rate_is_above_the_limit() -> None:
    made = throttle("*")
    made.moved(T0, 5000, 0)
    assert made.holds(T0, 0)
    assert made.holds(T1, 4999)
    assert not made.holds(T0, 5000)


def test_replicas_that_are_not_named_are_neither_counted_nor_held() -> None:
    made = throttle("1:1")
    made.moved(T0, 10**9, 0)
    assert not made.holds(T1, 0)
    made.moved(T1, 10**9, 0)
    assert not made.holds(T0, 0)


def test_a_throttle_without_a_limit_holds_nothing() -> None:
    made = throttle("*", limit=UNLIMITED)
    made.moved(T0, 10**12, 0)
    assert not made.holds(T0, 0)


def test_bursts_are_forgotten_after_the_windows() -> None:
    rate = ByteRate(windows=3, window_ms=1000)
    rate.record(9000, 0)
    assert rate.per_second(0) == 9000
    assert rate.per_second(2000) == 4500
    assert rate.per_second(3000) == 0


def test_settings_come_and_go() -> None:
    throttles = ReplicationThrottles()
    throttles.follow_broker({"leader.replication.throttled.rate": 10, "follower.replication.throttled.rate": 20})
    throttles.follow_topic("t", {"leader.replication.throttled.replicas": ("0:1",), "follower.replication.throttled.replicas": ("*",)}, ME)
    assert (throttles.leader.limit, throttles.follower.limit) == (10, 20)
    assert (throttles.leader.concerns(T1), throttles.follower.concerns(T1)) == (False, True)
    throttles.follow_topic("t", {"leader.replication.throttled.replicas": (), "follower.replication.throttled.replicas": ()}, ME)
    assert not throttles.follower.concerns(T1)
