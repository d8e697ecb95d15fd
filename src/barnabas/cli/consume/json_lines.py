"""``--json``: one object a line, which ``produce --json`` takes back unchanged.

The object has ``topic``, ``partition``, ``offset``, ``timestamp``, ``timestamp_type``, ``key``,
``value`` and ``headers``, a list that keeps order and repeated names. Bytes that are not UTF-8 are
base64 under ``key_base64`` or ``value_base64``; the reader is
:mod:`barnabas.cli.produce.json_records`.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.headers import headers_of
from barnabas.cli.consume.template import Render
from barnabas.cli.registry_records.decoded_message import DecodedMessage
from barnabas.cli.terminal.record_text import Notation, json_bytes


def json_renderer(key_format: Notation, value_format: Notation) -> Render:
    encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode

    def render(message: Message) -> bytes:
        return _one_line(encode(describe(message, key_format, value_format))).encode() + b"\n"

    return render


def _one_line(text: str) -> str:
    """Python's ``splitlines`` and some editors end a line at these characters too."""
    if text.isascii():
        return text
    return text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def describe(message: Message, key_format: Notation, value_format: Notation) -> dict[str, Any]:
    kind, timestamp = message.timestamp()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp,
        "timestamp_type": "LogAppendTime" if kind == TIMESTAMP_LOG_APPEND_TIME else "CreateTime",
        **_part("key", message, key_format),
        **_part("value", message, value_format),
        "headers": [{"name": name, **json_bytes("value", value)} for name, value in headers_of(message)],
    }


def _part(name: Literal["key", "value"], message: Message, notation: Notation) -> dict[str, Any]:
    if isinstance(message, DecodedMessage):
        decoded = message.decoded_key if name == "key" else message.decoded_value
        if decoded is not None:
            return decoded.fields(name)
    return dict(json_bytes(name, message.key() if name == "key" else message.value(), notation))
