"""Sessions of brokers: heartbeats extend them, and a silent broker loses its own."""

from __future__ import annotations

from barnabas.controller.core.broker_sessions import NOT_STOPPING, BrokerSessions


def test_a_session_lasts_exactly_as_long_as_configured() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    sessions.touch(1, 7, now_ms=1000)
    assert sessions.alive(1, 7, now_ms=1100)
    assert sessions.expired(1100) == []
    assert sessions.next_deadline_ms == 1101
    assert not sessions.alive(1, 7, now_ms=1101)
    assert sessions.expired(1101) == [1]


def test_every_heartbeat_prolongs_it() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    sessions.touch(1, 7, now_ms=1000)
    sessions.touch(1, 7, now_ms=1090)
    assert sessions.alive(1, 7, now_ms=1190)


def test_a_session_belongs_to_one_broker_epoch() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    sessions.touch(1, 7, now_ms=1000)
    assert not sessions.alive(1, 6, now_ms=1000)
    sessions.stop(1, offset=5)
    sessions.touch(1, 8, now_ms=1001)
    assert (sessions.alive(1, 7, now_ms=1001), sessions.stop_offset(1)) == (False, NOT_STOPPING)


def test_the_longest_silent_is_first() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    for broker, heard in ((3, 1), (1, 2), (2, 1), (4, 1000)):
        sessions.touch(broker, 0, now_ms=heard)
    assert sessions.expired(200) == [2, 3, 1]


def test_no_sessions_have_no_deadline() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    assert (sessions.next_deadline_ms, sessions.seen_by(1), sessions.stop_offset(1)) == (None, -1, NOT_STOPPING)
    sessions.stop(1, offset=3)
    sessions.end(1)
    assert sessions.stop_offset(1) == NOT_STOPPING


def test_the_offset_at_which_a_broker_began_to_stop_is_remembered_once() -> None:
    sessions = BrokerSessions(timeout_ms=100)
    sessions.touch(1, 7, now_ms=0, metadata_offset=4)
    sessions.stop(1, offset=5)
    sessions.stop(1, offset=9)
    assert (sessions.stop_offset(1), sessions.seen_by(1)) == (5, 4)
