r"""``--format``: the letters of kcat, with the same meanings.

========  ============================================  ========  ================================
``%t``    topic                                         ``%p``    partition
``%o``    offset                                        ``%T``    timestamp in ms since 1970
``%k``    key                                           ``%K``    length of the key, -1 for null
``%s``    value; ``%v`` is another name                 ``%S``    length of the value, -1 for null
``%h``    headers as ``name=value,name=value``          ``%R``    length of the value as four bytes
``%%``    a percent sign                                          big-endian, -1 for null
========  ============================================  ========  ================================

A template is printed as it is: it adds no newline of its own, so that ``%R%s`` frames records.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.headers import headers_of
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.escapes import terminal_text, unescape
from barnabas.cli.terminal.record_text import Notation, show_bytes

LETTERS = "%t, %p, %o, %k, %s or %v, %S, %K, %T, %h, %R and %%"
# kcat prints it for every header without a value, also without -Z.
_NULL_HEADER = b"NULL"
# Far more than a person types. It bounds the work for each record.
_TEMPLATE_LENGTH_MAX = 10_000

Render = Callable[[Message], bytes]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How bytes of records are printed, in templates as elsewhere."""

    key: Notation = Notation.TEXT
    value: Notation = Notation.TEXT
    null_marker: bytes = b""
    safe: bool = False  # for a terminal: control characters are escaped

    def of_key(self, data: bytes | None) -> bytes:
        return self.null_marker if data is None else self.made_safe(show_bytes(data, self.key))

    def of_value(self, data: bytes | None) -> bytes:
        return self.null_marker if data is None else self.made_safe(show_bytes(data, self.value))

    def made_safe(self, data: bytes) -> bytes:
        return terminal_text(data).encode() if self.safe else data


def template_renderer(template: str, spelling: Spelling) -> Render:
    """Raises ``Refused`` when the template has a letter without a meaning."""
    pieces = _merged(_parse(template, spelling))
    match pieces:
        case [piece] if not isinstance(piece, bytes):
            return piece
        # The two forms of nearly every large export, without a loop for each record.
        case [piece, bytes(tail)] if not isinstance(piece, bytes):
            return lambda message: piece(message) + tail
        case _:
            return lambda message: b"".join([piece if isinstance(piece, bytes) else piece(message) for piece in pieces])


def _parse(template: str, spelling: Spelling) -> list[Render | bytes]:
    if len(template) > _TEMPLATE_LENGTH_MAX:
        raise Refused(f"--format takes at most {_TEMPLATE_LENGTH_MAX} characters.")
    fields = _fields(spelling)
    pieces: list[Render | bytes] = []
    for text, mark, letter in re.findall(r"([^%]*)(?:(%)(.?))?", template, re.DOTALL):
        if text:
            pieces.append(unescape("--format", text))
        if mark == "%" and letter == "%":
            pieces.append(b"%")
        elif mark:
            if letter not in fields:
                raise Refused(f"--format supports {LETTERS}, but not %{letter}.")
            pieces.append(fields[letter])
    return pieces


def _merged(pieces: list[Render | bytes]) -> list[Render | bytes]:
    merged: list[Render | bytes] = []
    for piece in pieces:
        if merged and isinstance(piece, bytes) and isinstance(last := merged[-1], bytes):
            merged[-1] = last + piece
        else:
            merged.append(piece)
    return merged


def _fields(spelling: Spelling) -> dict[str, Render]:
    key, value = _key_field(spelling), _value_field(spelling)
    return {
        "t": lambda message: message.topic().encode(),
        "p": lambda message: b"%d" % message.partition(),
        "o": lambda message: b"%d" % message.offset(),
        "k": key,
        "K": lambda message: b"%d" % _length(message.key()),
        "s": value,
        "v": value,
        "S": lambda message: b"%d" % _length(message.value()),
        "T": lambda message: b"%d" % message.timestamp()[1],
        "h": lambda message: _headers(message, spelling),
        "R": lambda message: spelling.made_safe(_length(message.value()).to_bytes(4, "big", signed=True)),
    }


def _key_field(spelling: Spelling) -> Render:
    null = spelling.null_marker
    if spelling.key is not Notation.TEXT or spelling.safe:
        return lambda message: spelling.of_key(message.key())
    # Large exports are text to a file, and need no further call for a record that has a key.
    return lambda message: message.key() or _nothing(message.key(), null)


def _value_field(spelling: Spelling) -> Render:
    null = spelling.null_marker
    if spelling.value is not Notation.TEXT or spelling.safe:
        return lambda message: spelling.of_value(message.value())
    return lambda message: message.value() or _nothing(message.value(), null)


def _nothing(data: bytes | None, null: bytes) -> bytes:
    return null if data is None else b""


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(message: Message, spelling: Spelling) -> bytes:
    joined = b",".join(name.encode() + b"=" + (_NULL_HEADER if value is None else value) for name, value in headers_of(message))
    return spelling.made_safe(joined)
