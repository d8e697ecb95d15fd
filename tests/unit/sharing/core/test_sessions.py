from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.sharing.core.sessions import FINAL_EPOCH, SessionKey, SharedPartition, ShareSession, ShareSessions

TOPIC = Uuid(b"t" * 16)
A, B = SessionKey("group", "a"), SessionKey("group", "b")
ZERO, ONE, TWO = (SharedPartition(TOPIC, index) for index in range(3))


def opened(sessions: ShareSessions, key: SessionKey = A, connection: str = "connection") -> ShareSession:
    session = sessions.open(key, [ZERO, ONE, TWO], connection)
    assert isinstance(session, ShareSession)
    return session


def test_requests_of_a_session_count_up() -> None:
    sessions = ShareSessions(10)
    opened(sessions)
    assert isinstance(sessions.continue_with(A, 1), ShareSession)
    assert sessions.continue_with(A, 1) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert isinstance(sessions.continue_with(A, 2), ShareSession)


def test_a_member_without_a_session_is_refused() -> None:
    assert ShareSessions(10).continue_with(A, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert ShareSessions(10).continue_with(A, FINAL_EPOCH) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_the_largest_epoch_is_followed_by_one() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    session.epoch = 2**31 - 1
    sessions.continue_with(A, 2**31 - 1)
    assert session.epoch == 1


def test_a_new_session_of_a_member_replaces_the_old_one() -> None:
    sessions = ShareSessions(1)
    first = opened(sessions)
    assert opened(sessions) is not first
    assert len(sessions) == 1


def test_there_is_a_limit_of_sessions() -> None:
    sessions = ShareSessions(1)
    opened(sessions)
    assert sessions.open(B, [ZERO], "other") is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    sessions.remove(A)
    assert isinstance(sessions.open(B, [ZERO], "other"), ShareSession)


def test_sessions_end_with_their_connection() -> None:
    sessions = ShareSessions(10)
    opened(sessions, A, "one")
    opened(sessions, B, "two")
    assert [session.key for session in sessions.disconnected("one")] == [A]
    assert sessions.disconnected("one") == []
    assert sessions.has_members("group")
    sessions.disconnected("two")
    assert not sessions.has_members("group")


def test_a_session_that_moved_to_another_connection_does_not_end_with_the_first() -> None:
    sessions = ShareSessions(10)
    opened(sessions, A, "one")
    opened(sessions, A, "two")
    assert sessions.disconnected("one") == []
    assert len(sessions) == 1


def test_the_partitions_take_turns() -> None:
    session = opened(ShareSessions(10))
    assert session.in_turn(0) == [ZERO, ONE, TWO]
    assert session.in_turn(1) == [ONE, TWO, ZERO]
    assert session.in_turn(3) == [ZERO, ONE, TWO]


def test_a_partition_without_news_is_left_out() -> None:
    session = ShareSession(A, [ZERO], "connection")
    assert not session.has_news(ZERO, records=False, error=False)
    assert session.has_news(ZERO, records=True, error=False)


def test_a_partition_that_was_added_later_is_named_once() -> None:
    session = ShareSession(A, [ZERO], "connection")
    session.update([ONE], [ZERO])
    assert list(session.partitions) == [ONE]
    assert session.has_news(ONE, records=False, error=False)
    assert not session.has_news(ONE, records=False, error=False)


def test_a_partition_is_named_once_more_after_an_error() -> None:
    session = ShareSession(A, [ZERO], "connection")
    assert session.has_news(ZERO, records=False, error=True)
    assert session.has_news(ZERO, records=False, error=False)
    assert not session.has_news(ZERO, records=False, error=False)
