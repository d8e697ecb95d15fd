from __future__ import annotations

import pytest

from barnabas.cli.consume.template import Spelling, template_renderer
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.record_text import Notation
from tests.unit.cli.messages import FakeMessage

MESSAGE = FakeMessage(b"value", b"key", [("a", b"1"), ("a", None), ("b", b"")])


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("%s\\n", b"value\n"),
        ("%v", b"value"),
        ("%t[%p]@%o", b"orders[3]@17"),
        ("%T %k %K %S", b"1751371200000 key 3 5"),
        ("%h", b"a=1,a=NULL,b="),
        ("%R%s", b"\x00\x00\x00\x05value"),
        ("100%%\\t\\x41\\r\\\\", b"100%\tA\r\\"),
        ("\u00e9 %k", "\u00e9 key".encode()),
        ("only text", b"only text"),
        ("", b""),
    ],
)
def test_letters_and_escapes_are_kcats(template: str, printed: bytes) -> None:
    assert template_renderer(template, Spelling())(MESSAGE) == printed


def test_null_is_nothing_or_the_marker_and_has_the_length_minus_one() -> None:
    null = FakeMessage(None, None)
    assert template_renderer("[%k|%s|%K|%S|%R]", Spelling())(null) == b"[||-1|-1|\xff\xff\xff\xff]"
    assert template_renderer("%k|%s", Spelling(null_marker=b"NULL"))(null) == b"NULL|NULL"
    assert template_renderer("%k|%s", Spelling(null_marker=b"NULL"))(FakeMessage(b"", b"")) == b"|"


def test_lengths_are_of_the_bytes_and_not_of_their_notation() -> None:
    spelling = Spelling(Notation.HEX, Notation.BASE64)
    assert template_renderer("%k %K %s %S", spelling)(FakeMessage(b"\xff", b"\x00\x01")) == b"0001 2 /w== 1"


def test_on_a_terminal_bytes_of_a_record_are_escaped_and_those_of_the_template_are_not() -> None:
    spelling = Spelling(safe=True)
    message = FakeMessage(b"\x1b]0;owned\x07", b"\xff\xc2\x9b", [("h\x1b", b"\x1b[2J")])
    assert template_renderer("\\x1b[1m%k %s %h", spelling)(message) == b"\x1b[1m\\xff\\u009b \\x1b]0;owned\\x07 h\\x1b=\\x1b[2J"


@pytest.mark.parametrize(("template", "sentence"), [("%x", "but not %x"), ("50%", "but not %"), ("\\x", "two hexadecimal digits")])
def test_a_letter_without_a_meaning_is_refused(template: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        template_renderer(template, Spelling())
