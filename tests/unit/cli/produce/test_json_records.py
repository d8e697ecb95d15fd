from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from barnabas.cli.consume.json_lines import json_renderer
from barnabas.cli.produce.draft import Defaults, Draft
from barnabas.cli.produce.json_records import JsonNotation
from barnabas.cli.terminal.record_text import Notation
from tests.unit.cli.messages import FakeMessage

DATA = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace"))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(DATA, DATA, st.lists(st.tuples(NAMES, DATA), max_size=4), st.integers(1, 2**62), st.sampled_from(Notation))
def test_a_printed_record_is_read_back_unchanged(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], timestamp_ms: int, notation: Notation
) -> None:
    line = json_renderer(notation, notation)(FakeMessage(value, key, headers, timestamp_=(1, timestamp_ms)))
    assert line.count(b"\n") == 1
    draft = JsonNotation(notation, notation, keep_partition=True).parse(line)
    assert draft == Draft(key, value, headers, timestamp_ms, 3)  # type: ignore[arg-type]


def test_the_partition_is_kept_only_when_the_user_wants_it() -> None:
    line = b'{"partition": 4, "value": "v"}'
    assert JsonNotation().parse(line).partition == -1
    assert JsonNotation(defaults=Defaults(partition=2)).parse(line).partition == 2
    assert JsonNotation(keep_partition=True).parse(line).partition == 4


def test_options_are_for_records_without_fields_of_their_own() -> None:
    notation = JsonNotation(defaults=Defaults(b"d", (("all", b"1"),), 5))
    assert notation.parse(b"{}") == Draft(b"d", None, [("all", b"1")], 5)
    record = {"key": None, "value": "v", "timestamp": 9, "headers": [{"name": "own", "value": "2"}]}
    assert notation.parse(json.dumps(record).encode()) == Draft(None, b"v", [("all", b"1"), ("own", b"2")], 9)


def test_a_value_may_be_json_itself() -> None:
    draft = JsonNotation().parse('{"key": [1], "value": {"name": "\u00e9", "n": 1.5}}'.encode())
    assert (draft.key, draft.value) == (b"[1]", '{"name":"\u00e9","n":1.5}'.encode())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[1]", "is not a JSON object"),
        (b'{"value": NaN}', "has NaN, which is not JSON"),
        (b'"\xff"', "is not UTF-8"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"payload": "x"}', "has the unknown field 'payload'; kcat's payload is value here"),
        (b'{"valeu": "x"}', "has the unknown field 'valeu'"),
        (b'{"value": "x", "value_base64": "eA=="}', "has both value and value_base64"),
        (b'{"value": 5}', "has the value 5, which is neither text, object, array nor null"),
        (b'{"value_base64": "?"}', "has a value_base64 that is not base64"),
        (b'{"value_base64": 5}', "has a value_base64 that is not base64"),
        (b'{"key": "\\ud800"}', "has a key with half a surrogate pair"),
        (b'{"headers": {"a": "b"}}', "has headers that are no list"),
        (b'{"headers": ["a"]}', "has a header that is not"),
        (b'{"headers": [{"name": "a", "v": "b"}]}', "has a header with the unknown field 'v'"),
        (b'{"timestamp": "now"}', 'has the timestamp "now", which is no whole number'),
        (b'{"timestamp": true}', "has the timestamp true"),
        (b'{"timestamp": 1e400}', "has the timestamp"),
    ],
)
def test_the_problem_of_a_line_is_named(line: bytes, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        JsonNotation().parse(line)
    assert problem in str(raised.value)


def test_notations_of_options_count_for_json_too() -> None:
    assert JsonNotation(Notation.HEX, Notation.HEX).parse(b'{"key": "00ff", "value": "61"}')[:2] == (b"\x00\xff", b"a")
    with pytest.raises(ValueError, match="has a value that is not hex"):
        JsonNotation(value_format=Notation.HEX).parse(b'{"value": "xx"}')
