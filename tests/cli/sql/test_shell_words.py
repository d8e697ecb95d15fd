"""Statements, commands and completion, as texts."""

from __future__ import annotations

import pytest

from barnabas.cli.sql.completion import complete
from barnabas.cli.sql.shell_commands import Kind, ShellCommand, command_of
from barnabas.cli.sql.statements import is_blank, is_complete, split_statements


class Names:
    def topics(self) -> list[str]:
        return ["my-topic", "orders", "orders.eu"]

    def columns(self, topic: str) -> list[str]:
        return {"orders": ["_key", "status", "weird name"], "my-topic": ["a"]}.get(topic, [])


def test_semicolons_end_statements_outside_of_quotes_and_comments() -> None:
    text = 'SELECT \';\' , "a;\\";" FROM `x;y` -- no; end\n; /* ; */ SELECT 2; SELECT'
    statements, rest = split_statements(text)
    assert [each.strip() for each in statements] == ['SELECT \';\' , "a;\\";" FROM `x;y` -- no; end', "/* ; */ SELECT 2"]
    assert rest == " SELECT"
    assert split_statements("SELECT 'open; ") == ([], "SELECT 'open; ")


def test_a_statement_is_complete_at_its_semicolon() -> None:
    assert is_complete("SELECT 1; -- done")
    assert not is_complete("SELECT 1")
    assert not is_complete("SELECT 1; SELECT 2")
    assert not is_complete(" ; ")
    assert is_blank(" -- only; a comment\n /* and another */ ")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("\\?", ShellCommand(Kind.HELP)),
        (" .help ", ShellCommand(Kind.HELP)),
        ("exit;", ShellCommand(Kind.QUIT)),
        ("show  TOPICS ;", ShellCommand(Kind.TOPICS)),
        ("\\d", ShellCommand(Kind.TOPICS)),
        ("\\d `my-topic`", ShellCommand(Kind.DESCRIBE, "my-topic")),
        ("\\timing on", ShellCommand(Kind.TIMING, "on")),
        ("\\nonsense x", ShellCommand(Kind.UNKNOWN, "\\nonsense x")),
    ],
)
def test_commands_are_recognised(text: str, command: ShellCommand) -> None:
    assert command_of(text) == command


@pytest.mark.parametrize("text", ["SELECT 1", "describe orders", "help me", ""])
def test_sql_is_no_command(text: str) -> None:
    assert command_of(text) is None


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("SELECT * FROM o", "", ["orders", "orders.eu"]),
        ("SELECT * FROM my", "", ["`my-topic`"]),
        ("SELECT * FROM orders, m", "", ["`my-topic`"]),
        ("\\d or", "", ["orders", "orders.eu"]),
        ("SELECT st", " FROM orders", ["status", "startswith"]),
        ("SELECT we", " FROM orders", ["`weird name`"]),
        ("SELECT o.st", " FROM orders o", ["o.status"]),
        ("sel", "", ["select"]),
        ("SEL", "", ["SELECT"]),
        ("\\t", "", ["\\timing"]),
    ],
)
def test_the_word_before_the_cursor_is_completed(before: str, after: str, words: list[str]) -> None:
    assert complete(before, before + after, Names())[1] == words
