"""Entries as lines of text and as lines of JSON."""

from __future__ import annotations

import json
from typing import Any

from barnabas.cli.log.dump.entries import Entry
from barnabas.cli.terminal.record_text import json_bytes

_INDENT = "  "


def json_line(path: str, entry: Entry) -> str:
    return json.dumps({"file": path, "kind": entry.kind, **_jsonable(entry.fields)}, ensure_ascii=False)


def text_line(entry: Entry) -> str:
    parts = " ".join(f"{name}={_text(value)}" for name, value in entry.fields.items())
    return f"{_INDENT * (entry.depth + 1)}{entry.kind} {parts}".rstrip()


def _jsonable(fields: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in fields.items():
        match value:
            case bytes():
                shown |= json_bytes(name, value)
            case dict():
                shown[name] = _jsonable(value)
            case list():
                shown[name] = [_jsonable(each) if isinstance(each, dict) else each for each in value]
            case _:
                shown[name] = value
    return shown


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case bytes():
            return _text_of_bytes(value)
        case dict():
            return json.dumps(_jsonable(value), ensure_ascii=False)
        case list():
            return json.dumps([_jsonable(each) if isinstance(each, dict) else each for each in value], ensure_ascii=False)
        case _:
            return str(value)


def _text_of_bytes(data: bytes) -> str:
    """In quotes when it is text, otherwise as hex."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{data.hex()}"
    return json.dumps(text, ensure_ascii=False) if text.isprintable() or not text else f"0x{data.hex()}"
