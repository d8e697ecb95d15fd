"""Error codes: numbers of the protocol, and which of them a client may try again after."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode, KafkaError


def test_codes_run_without_gaps_up_to_the_newest() -> None:
    assert sorted(ErrorCode) == list(range(-1, 134))


def test_a_client_may_retry_what_heals_by_itself_and_not_what_it_did_wrong() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert ErrorCode.KAFKA_STORAGE_ERROR.retriable
    assert not ErrorCode.NONE.retriable
    assert not ErrorCode.INVALID_RECORD.retriable
    assert not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.retriable


def test_an_error_tells_its_name_where_it_has_no_message() -> None:
    assert str(KafkaError(ErrorCode.INVALID_REQUEST)) == "INVALID_REQUEST"
    assert KafkaError(ErrorCode.INVALID_REQUEST).message is None
    assert str(KafkaError(ErrorCode.INVALID_REQUEST, "no such thing")) == "no such thing"
