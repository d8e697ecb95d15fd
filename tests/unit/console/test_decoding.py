from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given, strategies as st

from barnabas.console.core.decoding.detection import SHOWN_CHARACTERS_MAX, SchemaValue, decode
from barnabas.console.core.decoding.message_pack import NOT_MESSAGE_PACK, read_message_pack
from barnabas.console.core.decoding.protobuf_wire import NOT_PROTOBUF, read_protobuf
from barnabas.console.core.decoding.safe_text import safe


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (None, "null", ""),
        (b"", "empty", ""),
        (b'{"b": 1, "a": "\xc3\xa4"}', "json", '{\n  "b": 1,\n  "a": "ä"\n}'),
        (b"[1]", "json", "[\n  1\n]"),
        (b"17", "json", "17"),
        (b"NaN", "text", "NaN"),
        (b"plain text\n", "text", "plain text\n"),
        (b"{broken", "text", "{broken"),
        (b"\x82\xa1a\x01\xa1b\xc0", "messagepack", '{\n  "a": 1,\n  "b": null\n}'),
        (struct.pack(">q", -5), "number", "-5 (0xfffffffffffffffb)"),
        (struct.pack(">i", 300), "number", "300 (0x0000012c)"),
        (
            b"\x08\x96\x01\x12\x03abc\x1a\x02\x08\x05\x1a\x02\x08\x06",
            "protobuf",
            '{\n  "1": 150,\n  "2": "abc",\n  "3": [\n    {\n      "1": 5\n    },\n    {\n      "1": 6\n    }\n  ]\n}',
        ),
        (b"\x00\xff\x10", "hex", "00000000  00 ff 10                                         ..."),
    ],
)
def test_a_format_is_found_by_looking_at_the_bytes(data: bytes | None, name: str, text: str) -> None:
    made = decode(data)
    assert (made.format, made.text, made.is_cut, made.problem) == (name, text, False, None)


def test_a_person_may_choose_the_format() -> None:
    assert decode(b'{"a":1}', wanted="text").text == '{"a":1}'
    assert decode(b"text", wanted="hex").format == "hex"
    assert decode(b"\xff", wanted="text").text == "\ufffd"
    assert decode(b"not json", wanted="json").format == "hex"


def test_a_value_with_a_schema_is_shown_by_it_and_a_problem_is_shown_beside_the_bytes() -> None:
    made = decode(b"\x00\x00\x00\x00\x07xy", schema=SchemaValue("avro schema 7 Order", {"raw": b"\x01", "n": 1.5}))
    assert (made.format, made.schema, json.loads(made.text)) == ("schema", "avro schema 7 Order", {"raw": "01", "n": 1.5})
    assert decode(b"\x00\x00\x00\x00\x07xy", problem="The registry has no schema 7.").problem == "The registry has no schema 7."


def test_a_long_value_is_cut_and_keeps_its_size() -> None:
    for data in (b"x" * 1_000_000, b"\x00" * 1_000_000, b'"' + b"x" * 1_000_000 + b'"'):
        made = decode(data, characters_max=SHOWN_CHARACTERS_MAX)
        assert (made.is_cut, made.size_bytes) == (True, len(data))
        assert len(made.text) <= 6 * SHOWN_CHARACTERS_MAX


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"[" * 900 + b"]" * 900, b'{"a":' * 5_000, b"\x91" * 10_000, b"\xdf\xff\xff\xff\xff", b"9" * 5_000]
)
def test_deep_and_lying_documents_are_shown_without_an_error(data: bytes) -> None:
    assert decode(data).size_bytes == len(data)


@given(st.binary(max_size=200))
def test_no_bytes_raise_an_error_and_all_texts_can_be_sent(data: bytes) -> None:
    for wanted in ("auto", "json", "text", "messagepack", "number", "protobuf", "hex"):
        decode(data, wanted=wanted).text.encode("utf-8")


def test_characters_that_deceive_a_reader_are_escaped() -> None:
    assert safe("a\u202eb\x00\x1b[1m\r\n\t\ufeff\ud800") == "a\\u202eb\\x00\\x1b[1m\\r\n\t\\ufeff\\ud800"


def test_the_name_of_a_schema_and_a_problem_are_safe_to_show() -> None:
    for data in (b"text", b"\xff", b"\xff" * 100_000):
        shown = decode(data, problem="no schema \ud800\u202e")
        assert shown.problem == "no schema \\ud800\\u202e"
    assert decode(b"x", schema=SchemaValue("avro schema \ud800", 1)).schema == "avro schema \\ud800"


def test_message_pack_is_read_whole_or_not_at_all() -> None:
    document = b"\x95\xd9\x01x\xcb" + struct.pack(">d", 1.5) + b"\xc4\x02\x00\x01\xd4\x05\x09\xff"
    assert read_message_pack(document) == ["x", 1.5, b"\x00\x01", {"extension": 5, "bytes": b"\x09"}, -1]
    assert read_message_pack(document + b"\x00") is NOT_MESSAGE_PACK
    assert read_message_pack(document[:-1]) is NOT_MESSAGE_PACK
    assert read_message_pack(b"\x01") is NOT_MESSAGE_PACK


def test_protobuf_without_a_schema_is_read_whole_or_not_at_all() -> None:
    message = b"\x08\x01\x15\x00\x00\x80\x3f\x19\x00\x00\x00\x00\x00\x00\x04\x40\x22\x01\xff"
    assert read_protobuf(message) == {"1": 1, "2": 1.0, "3": 2.5, "4": b"\xff"}
    for data in (message[:-1], message + b"\x00", b"\x0b\x00\x00\x00", b"\x22\xff\xff\xff\xff\x0f" + b"x" * 5, b"\x80" * 20):
        assert read_protobuf(data) is NOT_PROTOBUF
