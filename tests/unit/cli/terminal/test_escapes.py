from __future__ import annotations

import pytest

from barnabas.cli.errors import Refused
from barnabas.cli.terminal.escapes import terminal_text, unescape


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a", b"a"),
        ("\\n\\r\\t\\0", b"\n\r\t\0"),
        ("\\x1f\\xFFx", b"\x1f\xffx"),
        ("\\\\n", b"\\n"),
        ("\\q\\:", b"q:"),
        ("end\\", b"end\\"),
        ("\u00fc\\n", "\u00fc\n".encode()),
        # An argument that is not UTF-8, as Python passes it.
        ("\udcff", b"\xff"),
    ],
)
def test_escapes_of_options_become_bytes(text: str, data: bytes) -> None:
    assert unescape("--delimiter", text) == data


@pytest.mark.parametrize("text", ["\\x", "\\x1", "\\xg0"])
def test_half_a_byte_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="--delimiter takes two hexadecimal digits"):
        unescape("--delimiter", text)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n\ttext", "plain\n\ttext"),
        ("\u00fc \u4f60".encode(), "\u00fc \u4f60"),
        (b"\x1b[2J\r\x00\x7f", "\\x1b[2J\\x0d\\x00\\x7f"),
        (b"\xff", "\\xff"),
        ("\u009b\u202e\U000e0001".encode(), "\\u009b\\u202e\\U000e0001"),
    ],
)
def test_control_characters_are_escaped_for_terminals(data: bytes, text: str) -> None:
    assert terminal_text(data) == text
