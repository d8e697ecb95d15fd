from __future__ import annotations

import json
import re

from hypothesis import given, strategies as st

from barnabas.cli.consume.pretty import PRETTY_BYTES_MAX, Palette, pretty_json, pretty_record_renderer, pretty_value_renderer
from barnabas.cli.consume.template import Spelling
from barnabas.cli.terminal.escapes import terminal_text
from tests.unit.cli.messages import FakeMessage

PLAIN, COLOURED = Palette(coloured=False), Palette(coloured=True)
SAFE = Spelling(safe=True)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
COLOUR = re.compile(r"\x1b\[\d*m")


def test_json_is_indented() -> None:
    text = b'{"a": [1, {"b": "x"}], "empty": {}, "none": [ ]}'
    assert pretty_json(text, PLAIN) == json.dumps(json.loads(text), indent=2)


def test_numbers_repeated_names_and_escapes_stay_as_they_were_written() -> None:
    assert pretty_json(b'{"a":1.50e3,"a":12345678901234567890,"\\u0041":"\\/"}', PLAIN) == (
        '{\n  "a": 1.50e3,\n  "a": 12345678901234567890,\n  "\\u0041": "\\/"\n}'
    )


def test_names_texts_numbers_and_words_have_colours() -> None:
    assert pretty_json(b'{"a":["x",1,true]}', COLOURED) == (
        '{\n  \x1b[34m"a"\x1b[0m: [\n    \x1b[32m"x"\x1b[0m,\n    \x1b[36m1\x1b[0m,\n    \x1b[35mtrue\x1b[0m\n  ]\n}'
    )


def test_values_that_are_no_object_or_array_are_text() -> None:
    for text in (b"5", b'"x"', b"{", b"[1,]", b"\xff", b"", b"[" * 100_000, b"[" + b" " * PRETTY_BYTES_MAX + b"]"):
        assert pretty_json(text, PLAIN) is None
    assert pretty_value_renderer(SAFE, None, PLAIN)(FakeMessage(b"{ no json")) == b"{ no json\n"


def test_null_and_keys_are_shown() -> None:
    assert pretty_value_renderer(SAFE, b": ", COLOURED)(FakeMessage(None, None)) == b"\x1b[2mnull\x1b[0m: \x1b[2mnull\x1b[0m\n"
    assert pretty_value_renderer(SAFE, b"=", PLAIN)(FakeMessage(b"[1]", b"a\x1b")) == b"a\\x1b=[\n  1\n]\n"


def test_a_record_is_the_object_of_the_json_lines() -> None:
    shown = pretty_record_renderer(SAFE, PLAIN)(FakeMessage(b"\xff", b"k", [("h", b"1")])).decode()
    assert shown.startswith('{\n  "topic": "orders",\n  "partition": 3,\n  "offset": 17,\n')
    assert json.loads(shown)["value_base64"] == "/w=="


@given(st.binary(max_size=60), st.text(max_size=20))
def test_no_control_character_of_a_record_reaches_the_terminal(data: bytes, text: str) -> None:
    message = FakeMessage(data, text.encode("utf-8", "replace"), [("h", data)])
    nested = FakeMessage(json.dumps({text: [text]}, ensure_ascii=False).encode("utf-8", "replace"))
    for render in (pretty_value_renderer(SAFE, b"\t", COLOURED), pretty_record_renderer(SAFE, COLOURED)):
        for each in (message, nested):
            assert not CONTROL.search(COLOUR.sub("", render(each).decode()))
    assert not CONTROL.search(terminal_text(data))


def test_colours_of_a_record_are_escaped_and_not_obeyed() -> None:
    assert pretty_value_renderer(SAFE, None, COLOURED)(FakeMessage(b"\x1b[31mred")) == b"\\x1b[31mred\n"
