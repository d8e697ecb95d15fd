"""Reading dead letters."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.redrive import letter_of


class Message:
    """As confluent-kafka gives it."""

    def __init__(self, headers: list[tuple[str, bytes]] | None = None) -> None:
        self._headers = headers

    def headers(self) -> Any:
        if self._headers is None:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return self._headers

    key = value = staticmethod(lambda: b"")
    topic = staticmethod(lambda: "letters")
    partition = staticmethod(lambda: 2)
    offset = staticmethod(lambda: 17)


def test_a_letter_keeps_its_headers() -> None:
    assert letter_of(Message([("a", b"1")])).headers == [("a", b"1")]


def test_a_header_name_that_is_not_utf_8_is_reported_with_its_place() -> None:
    with pytest.raises(RunFailed, match="letters-2 at offset 17 has a header whose name is not UTF-8"):
        letter_of(Message())
