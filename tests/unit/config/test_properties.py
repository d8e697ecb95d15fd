"""Properties files, as Java reads and writes them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties, write_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=1\nb:2\nc 3\nd\n", {"a": "1", "b": "2", "c": "3", "d": ""}),
        ("  a  =  1  \n", {"a": "1  "}),
        ("# no\n! no\n\n   # no\na=# yes\n", {"a": "# yes"}),
        ("a=one,\\\n    two\n", {"a": "one,two"}),
        ("# a comment is not continued \\\na=1\n", {"a": "1"}),
        ("a=two backslashes\\\\\nb=1\n", {"a": "two backslashes\\", "b": "1"}),
        ("a\\ b\\:c\\=d=1\n", {"a b:c=d": "1"}),
        ("a=\\t\\u20ac\\ud83d\\ude00\\q\n", {"a": "\t€\U0001f600q"}),
        ("path=C:\\data\n", {"path": "C:data"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2\n", {"a": "2"}),
        ("=value\n", {"": "value"}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, properties: dict[str, str]) -> None:
    assert read_properties(text) == properties


def test_a_broken_escape_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"four hexadecimal digits, but here it is \\u12"):
        read_properties("a=\\u12")


def test_written_text_is_ascii_and_keeps_leading_spaces_and_separators() -> None:
    written = write_properties({"log.dirs": "/a,/b", "a key": "  x = é"})
    assert written == "log.dirs=/a,/b\na\\ key=\\ \\ x \\= \\u00E9\n"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(TEXTS, TEXTS))
def test_any_properties_survive_writing_and_reading(properties: dict[str, str]) -> None:
    written = write_properties(properties)
    assert written.isascii()
    assert read_properties(written) == properties
