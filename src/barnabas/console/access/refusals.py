"""Kafka's error codes, as errors of the console."""

from __future__ import annotations

from typing import Final

from barnabas.console.errors import BadValue, ClusterRefused, ConsoleError, Denied, NotFound
from barnabas.model.errors import ErrorCode

_DENIED: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
_MISSING: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.GROUP_ID_NOT_FOUND})
_INVALID: Final = frozenset(
    {
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.LOG_DIR_NOT_FOUND,
    }
)


def error_words(code: int) -> str:
    """The name of an error code; the number of a code that this release does not know."""
    return ErrorCode(code).name.lower().replace("_", " ") if code in ErrorCode._value2member_map_ else f"error {code}"


def refusal(code: int, message: str | None, doing: str) -> ConsoleError:
    """``doing`` begins the sentence: "Cannot create topic t"."""
    words = " ".join((message or error_words(code)).split()).rstrip(".!")
    sentence = f"{doing}: {words}."
    if code in _DENIED:
        return Denied(sentence)
    if code in _MISSING:
        return NotFound(sentence)
    if code in _INVALID:
        return BadValue(sentence)
    return ClusterRefused(sentence)


def refuse_error(code: int, message: str | None, doing: str) -> None:
    if code != ErrorCode.NONE:
        raise refusal(code, message, doing)
