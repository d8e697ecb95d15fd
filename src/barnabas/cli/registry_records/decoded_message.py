"""A record whose key and value are decoded.

It looks like a message of librdkafka, so that templates, filters and JSON lines need not know: its
key and value are the JSON of the data.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, NamedTuple

from barnabas.cli.cluster.client import Message


class Decoded(NamedTuple):
    """Data as JSON, or the reason why there is none."""

    raw: bytes
    data: object = None
    schema: str | None = None
    """The id or GUID of the schema."""
    error: str | None = None

    @property
    def text(self) -> bytes:
        if self.error is not None:
            return json.dumps({"undecodable": self.error, "base64": b64encode(self.raw).decode()}, ensure_ascii=False).encode()
        return json.dumps(self.data, ensure_ascii=False).encode("utf-8", "backslashreplace")

    def fields(self, name: str) -> dict[str, Any]:
        """The entries of a JSON line; ``produce --json`` takes the bytes of an undecodable part as
        they are."""
        if self.error is not None:
            return {f"{name}_base64": b64encode(self.raw).decode(), f"{name}_error": self.error}
        return {name: self.data, f"{name}_schema": self.schema}


class DecodedMessage:
    __slots__ = ("_message", "decoded_key", "decoded_value")

    def __init__(self, message: Message, key: Decoded | None, value: Decoded | None) -> None:
        """None for a part that is not decoded."""
        self._message = message
        self.decoded_key = key
        self.decoded_value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)

    def key(self) -> bytes | None:
        return self.decoded_key.text if self.decoded_key is not None else self._message.key()

    def value(self) -> bytes | None:
        return self.decoded_value.text if self.decoded_value is not None else self._message.value()
