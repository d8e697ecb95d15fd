"""An event as a line of text, and as a line of JSON.

The values of an event may come from a client. No value can begin a new line or send a control
sequence to the terminal: JSON escapes control characters, and the text escapes them too. A
traceback is the one thing that needs lines of its own; in the text each of them begins with a bar,
so none of them looks like an event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

_COLOURS = {"DEBUG": "\x1b[2m", "INFO": "\x1b[32m", "WARN": "\x1b[33m", "ERROR": "\x1b[31m"}
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
# So that the events of all levels begin in one column.
_LEVEL_WIDTH = 5
# Such a value reads the same without quotes, and nothing in it can be taken for the next key.
_PLAIN = re.compile(r"[^\s\"'=\\]+")


def json_line(now: datetime, level: str, event: str, values: Mapping[str, Any], trace: str | None) -> str:
    fields = {**values, "event": event, "level": level, "timestamp": _iso(now)}
    if trace is not None:
        fields["exception"] = trace
    return json.dumps(fields, default=str)


def text_lines(now: datetime, level: str, event: str, values: Mapping[str, Any], trace: str | None, *, colour: bool) -> str:
    """One line, and further ones for a traceback."""
    stamp = f"{now:%Y-%m-%d %H:%M:%S}.{now.microsecond // 1000:03}Z"
    padded = level.ljust(_LEVEL_WIDTH)
    title = printable(event)
    keys = [(printable(key), _value(value)) for key, value in values.items()]
    if colour:
        pairs = "".join(f" {_DIM}{key}={_RESET}{value}" for key, value in keys)
        line = f"{_DIM}{stamp}{_RESET} {_COLOURS.get(level, '')}{padded}{_RESET} {_BOLD}{title}{_RESET}{pairs}"
    else:
        line = f"{stamp} {padded} {title}" + "".join(f" {key}={value}" for key, value in keys)
    if trace is None:
        return line
    return "\n".join([line, *(f"    | {printable(each)}" for each in trace.splitlines())])


def _iso(now: datetime) -> str:
    return now.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1 else f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    text = str(value)
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    # A backslash of the value must not escape the quote that ends it.
    return '"' + printable(text.replace("\\", "\\\\")).replace('"', '\\"') + '"'


def printable(text: str) -> str:
    """``text`` with every character that is not printable written as Python writes it: control
    characters, line separators, and the marks that reverse the direction of writing."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
