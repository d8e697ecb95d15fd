"""The error codes of a coordinator's log, as the clients of the coordinator know them.

A client of a coordinator knows nothing of the log behind it. If the broker no longer leads the log,
the client learns that the broker is no longer the coordinator, and looks for the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.model.errors import ErrorCode

_CLIENT_ERRORS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


def client_error(code: ErrorCode) -> ErrorCode:
    """The code for the client. Codes that the coordinator itself decided stay the same."""
    return _CLIENT_ERRORS.get(code, code)
