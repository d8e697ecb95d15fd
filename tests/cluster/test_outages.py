"""How long clients notice the loss of a node, with Kafka's own timeouts. These tests measure time,
so they need an idle machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.checker import check
from tests.cluster.final_reads import read_to_the_end
from tests.cluster.history import History, Key, Outcome
from tests.cluster.view import View, ready
from tests.cluster.workers import IdempotentSender, working
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]

SESSION_SECONDS = 9.0
KILLED_SECONDS_MAX = SESSION_SECONDS + 3
STOPPED_SECONDS_MAX = 2.0
CONTROLLER_SECONDS_MAX = 3.0
KEY = Key("t", 0)


@pytest.fixture
def producing() -> Iterator[tuple[View, History]]:
    """A sender that works on a partition whose leader is not the active controller."""
    history = History()
    with barnabas_cluster(brokers=3, controllers=3) as cluster:
        view = ready(cluster)
        view.create_topic(KEY.topic)
        with working([IdempotentSender("sender", view.access.librdkafka, history, [KEY])]):
            until(lambda: history.done("send") > 100, "records are acknowledged")
            yield view, history
        read_to_the_end(view.access, history, [KEY])
        check(history)
        assert history.done("send", Outcome.INFO) == 0, "a client was told of an error"


def longest_silence(history: History, *, until_sent: int) -> float:
    """The longest time between two acknowledgements, until ``until_sent`` more have come."""
    longest, last, count = 0.0, time.monotonic(), history.done("send")
    wanted = count + until_sent
    while count < wanted:
        now, done = time.monotonic(), history.done("send")
        longest = max(longest, now - last)
        assert now - last < 60, "nothing is acknowledged any more"
        if done > count:
            count, last = done, now
        time.sleep(0.002)
    return longest


def test_a_killed_leader_stalls_producers_for_one_session_at_most(producing: tuple[View, History]) -> None:
    view, history = producing
    view.cluster.node(view.await_leader(KEY.topic)).kill()
    assert longest_silence(history, until_sent=500) < KILLED_SECONDS_MAX


def test_a_stopped_leader_hands_over_before_it_ends(producing: tuple[View, History]) -> None:
    view, history = producing
    view.cluster.node(view.await_leader(KEY.topic)).begin_to_stop()
    assert longest_silence(history, until_sent=500) < STOPPED_SECONDS_MAX


def test_a_killed_controller_has_a_successor_soon_and_producers_do_not_notice(producing: tuple[View, History]) -> None:
    view, history = producing
    controller = view.await_controller()
    view.cluster.node(controller).kill()
    killed = time.monotonic()
    until(view.controller_by_itself, "another controller leads")
    assert time.monotonic() - killed < CONTROLLER_SECONDS_MAX
    assert longest_silence(history, until_sent=500) < 1
