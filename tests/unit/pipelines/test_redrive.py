"""Reading dead letters."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.redrive import letter_of


class Message:
    """As confluent-kafka gives it."""

    def __init__(self, headers: list[tuple[str, bytes]] | None = None, *, key: bytes | None = b"", value: bytes | None = b"") -> None:
        self._headers = headers
        self._key, self._value = key, value

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Any:
        if self._headers is None:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return self._headers

    topic = staticmethod(lambda: "letters")
    partition = staticmethod(lambda: 2)
    offset = staticmethod(lambda: 17)


def test_a_letter_keeps_its_headers() -> None:
    assert letter_of(Message([("a", b"1")])).headers == [("a", b"1")]


def test_a_header_name_that_is_not_utf_8_is_reported_with_its_place() -> None:
    with pytest.raises(RunFailed, match="letters-2 at offset 17 has a header whose name is not UTF-8"):
        letter_of(Message())


def share_letter(key: bytes | None, value: bytes | None) -> Message:
    headers = {"topic": "orders", "partition": "3", "offset": "17", "group": "workers", "delivery.count": "5", "message": "too often"}
    own = [("own", b"1"), *((f"__dlq.errors.{name}", text.encode()) for name, text in headers.items())]
    return Message(own, key=key, value=value)


def test_a_letter_of_a_share_group_returns_to_the_topic_of_its_record() -> None:
    letter = letter_of(share_letter(b"key", b"value"))
    assert (letter.topic, letter.reason) == ("orders", "too often")
    assert letter.position is not None
    assert letter.position[:3] == ("orders", 3, 17)
    assert letter.headers_again == [("own", b"1"), ("barnabas.redriven", b"1")]


def test_a_letter_of_a_share_group_without_a_copy_of_its_record_stays() -> None:
    assert letter_of(share_letter(None, None)).topic is None
