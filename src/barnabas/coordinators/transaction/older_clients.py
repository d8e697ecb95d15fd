"""Error codes for clients that are older than a code."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode


def without_producer_fenced(code: ErrorCode) -> ErrorCode:
    """For clients that do not know PRODUCER_FENCED (KIP-588)."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code
