"""Records for a person at a terminal: JSON is indented and coloured, and no control character of a
record reaches the terminal.

JSON is laid out token by token rather than parsed and printed again, so that numbers, repeated
names and escapes look the way they were written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.json_lines import describe
from barnabas.cli.consume.template import Render, Spelling
from barnabas.cli.terminal.escapes import printable, terminal_text
from barnabas.cli.terminal.record_text import Notation, show_bytes

# A longer value does not fit on any screen, and laying it out would keep the next record waiting.
PRETTY_BYTES_MAX = 1_000_000
_INDENT = "  "
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)

_RESET = "\x1b[0m"
NAME, TEXT, NUMBER, WORD, DIM = "\x1b[34m", "\x1b[32m", "\x1b[36m", "\x1b[35m", "\x1b[2m"


class Palette:
    """Colours, or none where the user wants none (https://no-color.org)."""

    def __init__(self, *, coloured: bool) -> None:
        self.coloured = coloured

    def __call__(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_RESET}" if self.coloured and colour else text


def palette_of_terminal() -> Palette:
    return Palette(coloured=not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def pretty_value_renderer(spelling: Spelling, key_separator: bytes | None, palette: Palette) -> Render:
    """The value, after the key if there is a separator."""

    def part(data: bytes | None, notation: Notation) -> str:
        if data is None:
            return palette(DIM, terminal_text(spelling.null_marker) or "null")
        if notation is not Notation.TEXT:
            return show_bytes(data, notation).decode()
        return pretty_json(data, palette) or terminal_text(data)

    def render(message: Message) -> bytes:
        key = "" if key_separator is None else _one_line(message.key(), spelling, palette) + terminal_text(key_separator)
        return f"{key}{part(message.value(), spelling.value)}\n".encode()

    return render


def _one_line(key: bytes | None, spelling: Spelling, palette: Palette) -> str:
    return palette(DIM, "null") if key is None else palette(NAME, spelling.of_key(key).decode())


def pretty_record_renderer(spelling: Spelling, palette: Palette) -> Render:
    """The object of ``--json``."""

    def render(message: Message) -> bytes:
        text = json.dumps(describe(message, spelling.key, spelling.value), ensure_ascii=False)
        return f"{''.join(_laid_out(text, palette))}\n".encode()

    return render


def pretty_json(data: bytes, palette: Palette) -> str | None:
    """None when the bytes are no JSON object or array."""
    if len(data) > PRETTY_BYTES_MAX or not data.lstrip().startswith((b"{", b"[")):
        return None
    try:
        text = data.decode("utf-8")
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return "".join(_laid_out(text, palette))


def _laid_out(text: str, palette: Palette) -> Iterator[str]:
    depth = 0
    tokens = _TOKEN.findall(text)
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        before = tokens[index - 1] if index else ""
        match token:
            case "{" | "[":
                depth += 1
                yield token if following in ("}", "]") else token + _line(depth)
            case "}" | "]":
                depth -= 1
                yield token if before in ("{", "[") else _line(depth) + token
            case ",":
                yield "," + _line(depth)
            case ":":
                yield ": "
            case _:
                yield palette(_colour(token, following), _json_printable(token))


def _line(depth: int) -> str:
    return "\n" + _INDENT * depth


def _colour(token: str, following: str) -> str:
    if token.startswith('"'):
        return NAME if following == ":" else TEXT
    return NUMBER if token[0] in "-0123456789" else WORD


def _json_printable(token: str) -> str:
    """JSON itself allows no control character below space, but those from 0x7f to 0x9f."""
    return printable(token).replace("\\x7f", "\\u007f") if not token.isprintable() else token
