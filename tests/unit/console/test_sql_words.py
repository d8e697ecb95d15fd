"""The output of the SQL program, and completion of words."""

from __future__ import annotations

import pytest

from barnabas.console.core.sql_completion import completions, fields_of, named_topics, quoted, read_json, typed_word
from barnabas.console.core.sql_output import Column, cell_text, last_sentence, read_output_line

TOPICS = ["my-topic", "orders", "orders.eu"]
COLUMNS = {"orders": ["status", "amount", "odd name", "_key"]}


def _words(before: str) -> list[str]:
    return [each.text for each in completions(before, TOPICS, COLUMNS)]


def test_lines_are_columns_rows_or_neither() -> None:
    assert read_output_line(b'{"columns": [{"name": "a", "type": "bigint"}]}\n') == [Column("a", "bigint")]
    assert read_output_line(b'[1, null, {"b": 2}]\n') == [1, None, {"b": 2}]
    for line in (b"", b"text", b'{"other": 1}', b'{"columns": [1]}', b"[" * 100_000, b"3", b"null"):
        assert read_output_line(line) is None


def test_the_sentence_of_the_program_wins_over_lines_of_its_library() -> None:
    assert last_sentence(b"2 rows, by the embedded engine. 0.1 s.\n%3|rdkafka: gone\n") == "2 rows, by the embedded engine. 0.1 s."
    assert last_sentence(b"%3|x\nbarnabas: There is no topic 'a'.\nTraceback\n") == "There is no topic 'a'."
    assert last_sentence(b"") == ""
    assert last_sentence(b"barnabas: \xff") == "\N{REPLACEMENT CHARACTER}"


def test_topics_follow_from_and_join() -> None:
    assert _words("SELECT * FROM ") == ["`my-topic`", "orders", "orders.eu"]
    assert _words("SELECT * FROM my") == ["`my-topic`"]
    assert _words("SELECT * FROM orders o JOIN ord") == ["orders", "orders.eu"]
    assert _words("SELECT * FROM orders, ord") == ["orders", "orders.eu"]


def test_columns_functions_and_words_of_sql_stand_elsewhere() -> None:
    assert _words("SELECT ") == ["status", "amount", "`odd name`", "_key"]
    assert _words("SELECT a") == ["amount", "abs", "avg", "as", "and", "all", "asc"]
    assert _words("SELECT o.st") == ["o.status"]
    assert _words("SEL") == ["SELECT"]
    assert _words("SELECT status FROM orders WHERE status") == []


def test_named_topics_are_those_of_the_query() -> None:
    assert named_topics("SELECT * FROM `my-topic` JOIN orders", TOPICS) == ["my-topic", "orders"]


@pytest.mark.parametrize(("name", "written"), [("a", "a"), ("a.b", "a.b"), ("a-b", "`a-b`"), ("1", "`1`"), ("a`b", "`ab`")])
def test_names_that_are_no_words_are_quoted(name: str, written: str) -> None:
    assert quoted(name) == written


def test_columns_are_the_fields_of_json_objects() -> None:
    values = [b'{"a": 1}', b'{"b": 2, "a": 3}', None, b"\xff", b"[1]", b"[" * 100_000]
    assert fields_of(map(read_json, values))[:2] == ["a", "b"]
    assert fields_of([read_json(b"text")])[0] == "value"


def test_cells_show_text_as_it_is_and_other_values_as_json() -> None:
    assert [cell_text(each) for each in ("<b>", 1.5, True, {"a": [None]})] == ["<b>", "1.5", "true", '{"a": [null]}']
    assert typed_word("SELECT a, `odd na") == "na"
