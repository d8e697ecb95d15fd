"""The fields of a record that a filter can name. JSON is parsed at most once for each record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.headers import headers_of

Step = str | int
_UNREAD: Final = object()


class Subject:
    __slots__ = ("_key", "_value", "message")

    def __init__(self, message: Message) -> None:
        self.message = message
        self._key: Any = _UNREAD
        self._value: Any = _UNREAD

    def value(self) -> Any:
        if self._value is _UNREAD:
            self._value = _parsed(self.message.value())
        return self._value

    def key(self) -> Any:
        if self._key is _UNREAD:
            self._key = _parsed(self.message.key())
        return self._key

    def header(self, name: str) -> str | None:
        """The last header of that name, as in Kafka's ``lastHeader``."""
        found = None
        for each, value in headers_of(self.message):
            if each == name:
                found = value
        return text_of(found)


def _parsed(data: bytes | None) -> Any:
    """None for bytes that are no JSON, so that every path in them is missing."""
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def text_of(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def walk(found: Any, steps: Sequence[Step]) -> Any:
    """None where a step leads nowhere."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(found, dict):
                return None
            found = found.get(step)
        else:
            if not isinstance(found, list) or not -len(found) <= step < len(found):
                return None
            found = found[step]
    return found
