from __future__ import annotations

import pytest

from barnabas.cli.produce.draft import Defaults, Draft
from barnabas.cli.produce.line_records import LineNotation


def test_headers_and_key_come_before_the_value() -> None:
    notation = LineNotation(b":", b"\t", null_marker=b"-")
    assert notation.parse(b"a=1,a=2,b=-\tk:v:w\tx") == Draft(b"k", b"v:w\tx", [("a", b"1"), ("a", b"2"), ("b", None)])
    assert notation.parse(b"\t-:-") == Draft(None, None, [])


def test_the_key_of_a_line_precedes_that_of_the_option() -> None:
    defaults = Defaults(b"fixed", (("h", b"1"),), 7, 2)
    assert LineNotation(defaults=defaults).parse(b"v") == Draft(b"fixed", b"v", [("h", b"1")], 7, 2)
    assert LineNotation(b":", defaults=defaults).parse(b"own:v").key == b"own"


def test_headers_of_one_line_do_not_reach_the_next() -> None:
    notation = LineNotation(header_separator=b" ", defaults=Defaults(headers=(("h", b"1"),)))
    assert notation.parse(b"a=1 x").headers == [("h", b"1"), ("a", b"1")]
    assert notation.parse(b" y").headers == [("h", b"1")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"a=1", "has no header separator '\\|'"),
        (b"a=1|v", "has no key separator ':'"),
        (b"a|k:v", "has the header 'a' without ="),
        (b"\xff=1|k:v", "has a header whose name is not UTF-8"),
    ],
)
def test_the_problem_of_a_line_is_named(line: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        LineNotation(b":", b"|").parse(line)
