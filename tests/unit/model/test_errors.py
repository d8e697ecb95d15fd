"""Error codes: numbers of the protocol, and whether a client may retry after one."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode, KafkaError


def test_codes_have_no_gaps_up_to_the_newest() -> None:
    assert sorted(ErrorCode) == list(range(-1, 134))


def test_a_client_may_retry_transient_errors_and_not_its_own_mistakes() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert ErrorCode.KAFKA_STORAGE_ERROR.retriable
    assert not ErrorCode.NONE.retriable
    assert not ErrorCode.INVALID_RECORD.retriable
    assert not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.retriable


def test_an_error_without_a_message_shows_its_name() -> None:
    assert str(KafkaError(ErrorCode.INVALID_REQUEST)) == "INVALID_REQUEST"
    assert KafkaError(ErrorCode.INVALID_REQUEST).message is None
    assert str(KafkaError(ErrorCode.INVALID_REQUEST, "no such thing")) == "no such thing"
