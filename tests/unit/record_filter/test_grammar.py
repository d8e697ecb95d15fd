from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.record_filter.grammar import FilterRefused, parse_filter


class _Subject:
    topic, partition, offset, timestamp = "orders", 2, 17, 1_700_000_000_000

    def __init__(self, value: Any, key: str = "k") -> None:
        self._value, self._key = value, key

    def key_text(self) -> str | None:
        return self._key

    def value_text(self) -> str | None:
        return json.dumps(self._value)

    def key(self) -> Any:
        return self._key

    def value(self) -> Any:
        return self._value

    def header(self, name: str) -> str | None:
        return {"type": "order"}.get(name)

    def has_headers(self) -> bool:
        return True


_VALUE = {"amount": 12.5, "paid": True, "none": None, "lines": [{"sku": "a"}, {"sku": "b"}], "a-b": "x", "big": 10}


@pytest.mark.parametrize(
    "text",
    [
        ".amount > 12 and .amount <= 12.5",
        ".paid",
        "not .none and not .missing",
        ".missing == null",
        '.lines[-1].sku == "b"',
        '."a-b" == "x" or .a-b == "y"',
        'key == "k" and headers.type == "order" and headers',
        'partition == 2 and offset >= 17 and topic == "orders"',
        'value =~ "am[o]unt"',
        "not (.big < 10 or .big > 10)",
        ".paid == true and .paid != 1",
    ],
)
def test_the_condition_holds(text: str) -> None:
    assert parse_filter(text)(_Subject(_VALUE))


@pytest.mark.parametrize("text", ['.amount > "12"', ".lines > 1", ".lines[7]", 'headers.other == "x"', ".amount.deeper", 'key =~ "^x"'])
def test_the_condition_does_not_hold(text: str) -> None:
    assert not parse_filter(text)(_Subject(_VALUE))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (".a = 1", "use == for equality"),
        ("amount > 1", "begins with a dot"),
        ("(.a", "expects '\\)'"),
        (".a ==", "but found the end"),
        ('value =~ "("', "invalid pattern"),
        ("(" * 100 + ".a" + ")" * 100, "inside each other"),
        (".a or " * 1_000 + ".a", "at most 4000 characters"),
        ("__import__", "knows no field __import__"),
        ("offset.x", "cannot look inside offset"),
        ("1", "expects an operator"),
        (".zip == 01", "does not begin with 0, but found '01' at character 9"),
        ("partition == \u0663", "cannot read '\u0663' at character 14"),
        (".lines[\u0663]", "cannot read '\u0663'"),
        ('value =~ "\\\\Qabc"', "invalid pattern .*missing \\)"),
        ('value =~ "\\ud800"', "no half of a surrogate pair"),
        ('key == "\\ud800"', "no half of a surrogate pair"),
    ],
)
def test_a_mistake_is_a_sentence_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(FilterRefused, match=sentence):
        parse_filter(text)


def test_a_text_with_half_of_a_surrogate_pair_is_searched() -> None:
    subject = _Subject({"a": "\ud800 timeout", "b": "\udfff"})
    assert parse_filter('.a =~ "timeout"')(subject)
    assert not parse_filter('.b =~ "timeout"')(subject)
