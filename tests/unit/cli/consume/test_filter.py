from __future__ import annotations

import json

import pytest

from barnabas.cli.consume.filter import parse_filter
from barnabas.cli.errors import Refused
from barnabas.record_filter.grammar import DEPTH_MAX, FILTER_LENGTH_MAX
from tests.unit.cli.messages import FakeMessage

ORDER = FakeMessage(
    json.dumps(
        {
            "amount": 150,
            "rate": 0.5,
            "zero": 0,
            "paid": True,
            "late": False,
            "note": None,
            "user": {"name": "Ada", "e-mail": "ada@example.org", "two words": 2},
            "items": [{"sku": "a"}, {"sku": "b"}],
        }
    ).encode(),
    b'{"id": 7}',
    [("trace", b"old"), ("trace", b"new"), ("empty", None), ("x-id", b"9")],
)


@pytest.mark.parametrize(
    "text",
    [
        ".amount > 100",
        "100 < .amount",
        ".amount >= 150 and .amount <= 150",
        ".amount == 150.0",
        ".rate == 5e-1",
        '.user.name == "Ada"',
        '.user.name != "Bob"',
        '.user.name < "B"',
        '.user.e-mail =~ "@example[.]org$"',
        '.user."two words" == 2',
        '.user["two words"] == 2',
        ".items[1].sku == .items[-1].sku",
        ".user.name",
        ".zero",
        "not .late",
        "not .note and not .nope",
        ".note == null",
        ".nope == null",
        ".paid == true",
        ".paid != 1",
        ".late == false",
        ".amount > 999 or .paid and .rate < 1",
        "(.amount > 999 or .paid) and not (.rate > 1)",
        "key.id == 7",
        'key == "{\\"id\\": 7}"',
        "value.amount == 150",
        'value =~ "amount"',
        'headers.trace == "new"',
        'headers["x-id"] == "9"',
        "headers.empty == null",
        "headers",
        "not headers.nope",
        'topic == "orders" and partition == 3 and offset == 17 and timestamp > 1751371199999',
    ],
)
def test_the_condition_holds(text: str) -> None:
    assert parse_filter(text)(ORDER)


@pytest.mark.parametrize(
    "text",
    [
        ".amount > 150",
        '.amount > "100"',
        '.amount == "150"',
        ".user > 1",
        ".paid == 1",
        ".note",
        ".nope.deeper",
        ".amount.deeper",
        ".items[2]",
        ".items.sku",
        ".user[0]",
        '.amount =~ "1"',
        ".nope > 1",
        "not .paid",
        ".amount > 999 or .rate > 1",
    ],
)
def test_the_condition_does_not_hold(text: str) -> None:
    assert not parse_filter(text)(ORDER)


def test_fields_of_values_that_are_no_json_are_missing() -> None:
    for value in (b"plain", b"\xff", None, b"", b"[" * 100_000):
        assert not parse_filter(".a")(FakeMessage(value))
        assert parse_filter(".a == null")(FakeMessage(value))
    assert parse_filter('value == "plain" and . == null')(FakeMessage(b"plain"))
    assert parse_filter("value == null and key == null")(FakeMessage(None, None))
    assert parse_filter(". == 5")(FakeMessage(b"5"))
    assert parse_filter(".[0] == 5")(FakeMessage(b"[5]"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expects a field such as .amount, a number or a text in double quotes, but found the end"),
        (".amount >", "but found the end of '.amount >'"),
        (".amount = 1", "cannot read '=' at character 9 of '.amount = 1'; use == for equality"),
        (".a && .b", "use and"),
        (".a || .b", "use or"),
        (".a == 'x'", "text stands in double quotes"),
        ('.a == "x', "the text has no closing quote"),
        ("amount > 1", "knows no field amount: a field of the value begins with a dot, as in .amount"),
        (".a == 1 .b", "expects 'and', 'or' or the end, but found '.' at character 9"),
        ("(.a", r"expects '\)', but found the end"),
        (".a[x]", "a whole number or a name in double quotes"),
        (".a[1.5]", "a whole number or a name in double quotes"),
        (".a..b", "expects the name of a field"),
        ('"x"', "expects an operator"),
        ("true", "expects an operator"),
        ('.a =~ "("', r"invalid pattern"),
        (".a =~ 5", "a pattern in double quotes"),
        ("offset.x == 1", "cannot look inside offset"),
        ("headers.a.b", "takes one name after headers"),
        ('.a == "\\q"', "a text with JSON's escapes"),
        ("(" * (DEPTH_MAX + 1), f"at most {DEPTH_MAX} parentheses"),
        ("not " * (DEPTH_MAX + 1), f"at most {DEPTH_MAX} parentheses"),
        (" " * (FILTER_LENGTH_MAX + 1), f"at most {FILTER_LENGTH_MAX} characters"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_filter(text)
