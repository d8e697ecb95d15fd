"""Records as a test writes and reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

Text: TypeAlias = bytes | str | None
Headers: TypeAlias = Mapping[str, Text] | Iterable[tuple[str, Text]]


class Message(NamedTuple):
    """A record to produce. Text is sent as UTF-8. Without a partition the key decides, as with
    Java's producer; without a key the partitions take turns. The timestamp is in milliseconds, and
    the time of the call if it is left out."""

    key: Text = None
    value: Text = None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


class Position(NamedTuple):
    """The place of a record that was produced."""

    partition: int
    offset: int


class ConsumedRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


Producible: TypeAlias = Text | Message | tuple[object, ...]


def as_message(given: Producible) -> Message:
    """A value alone, or a tuple in the order of :class:`Message`."""
    if given is None or isinstance(given, bytes | bytearray | str):
        return Message(value=given)
    if isinstance(given, tuple) and 2 <= len(given) <= len(Message._fields):
        return Message(*given)  # type: ignore[arg-type]
    raise TypeError(f"A record is a value, or a tuple of {', '.join(Message._fields)}, but not {given!r}.")


def as_messages(given: Producible | Iterable[Producible]) -> list[Message]:
    """One record, or any number of them. A tuple is one record."""
    if given is None or isinstance(given, bytes | bytearray | str | tuple):
        return [as_message(given)]
    return [as_message(each) for each in given]


def as_bytes(text: Text) -> bytes | None:
    if text is None:
        return None
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, bytes | bytearray):
        return bytes(text)
    raise TypeError(f"Keys and values are bytes or text, but not {text!r}.")


def as_headers(headers: Headers) -> tuple[tuple[str, bytes | None], ...]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, as_bytes(value)) for name, value in pairs)
