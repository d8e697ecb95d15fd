"""JSON: read with limits, and printed for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

# Bytes that are parsed at most; a longer value is shown as text.
PARSED_BYTES_MAX: Final = 4 * 1024 * 1024
# Levels of nesting that are printed; below them is a sentence.
DEPTH_MAX: Final = 60
# How JSON begins, after white space.
_BEGINS: Final = b'{["-0123456789tfn'
NOT_JSON: Final = object()


def read_json(data: bytes) -> Any:
    """:data:`NOT_JSON` for bytes that are no JSON, or nested deeper than Python reads."""
    stripped = data[:64].lstrip()
    if not stripped or stripped[0] not in _BEGINS or len(data) > PARSED_BYTES_MAX:
        return NOT_JSON
    try:
        return json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return NOT_JSON


def print_json(value: Any, *, indent: int | None = 2) -> str:
    """A value of a decoder, with logical types as texts."""
    return json.dumps(plain_value(value), indent=indent, ensure_ascii=False)


def plain_value(value: Any, depth: int = 0) -> Any:
    """Only what JSON has: dicts with texts as keys, lists, texts, numbers, booleans, None."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if depth >= DEPTH_MAX:
        return f"… deeper than {DEPTH_MAX} levels"
    match value:
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case Mapping():
            return {str(plain_value(key, depth + 1)): plain_value(each, depth + 1) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain_value(each, depth + 1) for each in value]
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | UUID() | timedelta():
            return str(value)
    return str(value)


def _no_constant(name: str) -> Any:
    """NaN and Infinity are Python's, and no JSON."""
    raise ValueError(name)
