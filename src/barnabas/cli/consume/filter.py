"""``--filter``: a condition on the fields of a record, in the language of
:mod:`barnabas.record_filter`. JSON is parsed at most once for each record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.headers import headers_of
from barnabas.cli.errors import Refused
from barnabas.record_filter.grammar import FilterRefused, parse_filter as parse_condition

_UNREAD: Final = object()


def parse_filter(text: str) -> Callable[[Message], bool]:
    """Raises ``Refused`` with the place of a mistake."""
    try:
        condition = parse_condition(text)
    except FilterRefused as refused:
        # The sentences begin with "The filter" or "A filter"; here it is an option.
        raise Refused(f"--{str(refused).partition(' ')[2]}") from refused
    return lambda message: condition(MessageSubject(message))


class MessageSubject:
    __slots__ = ("_key", "_message", "_value")

    def __init__(self, message: Message) -> None:
        self._message = message
        self._key: Any = _UNREAD
        self._value: Any = _UNREAD

    @property
    def topic(self) -> str:
        topic: str = self._message.topic()
        return topic

    @property
    def partition(self) -> int:
        partition: int = self._message.partition()
        return partition

    @property
    def offset(self) -> int:
        offset: int = self._message.offset()
        return offset

    @property
    def timestamp(self) -> int:
        timestamp: int = self._message.timestamp()[1]
        return timestamp

    def key_text(self) -> str | None:
        return _text(self._message.key())

    def value_text(self) -> str | None:
        return _text(self._message.value())

    def key(self) -> Any:
        if self._key is _UNREAD:
            self._key = _parsed(self._message.key())
        return self._key

    def value(self) -> Any:
        if self._value is _UNREAD:
            self._value = _parsed(self._message.value())
        return self._value

    def header(self, name: str) -> str | None:
        return _text(next((value for each, value in reversed(headers_of(self._message)) if each == name), None))

    def has_headers(self) -> bool:
        return bool(headers_of(self._message))


def _parsed(data: bytes | None) -> Any:
    """None for bytes that are no JSON, so that every path in them is missing."""
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
