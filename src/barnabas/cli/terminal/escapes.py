r"""Backslashes in both directions: ``\n`` and ``\x00`` in the options of a user become bytes, and
bytes of a record become text that a terminal prints without obeying it.
"""

from __future__ import annotations

import re

from barnabas.cli.errors import Refused

_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|x|.)", re.DOTALL)
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_BYTE_MAX, _BMP_MAX = 0x7F, 0xFFFF


def unescape(option: str, text: str) -> bytes:
    r"""``\n``, ``\r``, ``\t``, ``\0`` and ``\xNN``; any other character after a backslash stands
    for itself, as in kcat."""
    pieces = []
    done = 0
    for found in _ESCAPE.finditer(text):
        pieces += [argument_bytes(text[done : found.start()]), _byte_of(option, found[1])]
        done = found.end()
    return b"".join([*pieces, argument_bytes(text[done:])])


def argument_bytes(text: str) -> bytes:
    """The bytes of a command line's argument, also of one that is not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _byte_of(option: str, code: str) -> bytes:
    if code == "x":
        raise Refused(f"{option} takes two hexadecimal digits after \\x, as in \\x1f.")
    if code.startswith("x"):
        return bytes.fromhex(code[1:])
    return argument_bytes(_NAMED.get(code, code))


def terminal_text(data: bytes) -> str:
    """Text without control characters other than newline and tab, so that a record can neither move
    the cursor nor change the title, the colours or the clipboard of the user's terminal. Bytes that
    are not UTF-8 become ``\\xNN``."""
    return printable(data.decode("utf-8", "backslashreplace"))


def printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if code <= _BYTE_MAX:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _BMP_MAX else f"\\U{code:08x}"
