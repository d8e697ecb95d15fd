"""Reads a statement without Spark: its syntax, and the topics that it names.

sqlglot parses Spark's dialect in milliseconds. It is more lenient than Spark in places, which is
harmless here: Spark, or the embedded engine's list of what it supports, decides later. It may also
lack a construct of Spark; ``--engine spark`` then skips this check.
"""

from __future__ import annotations

import difflib
import importlib.util
import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from barnabas.pipelines.errors import CannotRun

if TYPE_CHECKING:
    from sqlglot import exp

NEAR_NAMES_MAX = 3
# Texts, names and comments; those that are still open at the end are in the group.
_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|(?P<open>['"`]|/\*).*""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """``tree``: of a query; None for DESCRIBE, whose topic is ``described`` if it has no
    options."""

    text: str
    tree: exp.Query | None
    topics: tuple[str, ...]  # in the order of the text, each once
    described: str | None = None


class SyntaxErrorInQuery(CannotRun):
    pass


def can_parse() -> bool:
    return importlib.util.find_spec("sqlglot") is not None


def read_statement(text: str) -> Statement:
    """Raises ``CannotRun`` for statements that are no query, and ``SyntaxErrorInQuery`` with the
    place of an error."""
    from sqlglot import exp

    tree = _parse(text)
    if isinstance(tree, exp.Describe) and isinstance(tree.this, exp.Table):
        name = table_name(tree.this)
        is_plain = not any(part for part_name, part in tree.args.items() if part_name != "this")
        return Statement(text, None, (name,), name if is_plain else None)
    if isinstance(tree, exp.Column):
        # A single word such as `hello`, which sqlglot takes for an expression.
        raise SyntaxErrorInQuery(f"This is not a query: {text.strip()[:60]!r} (line 1, column 1). A query begins with SELECT or WITH.")
    if not isinstance(tree, exp.Query):
        raise CannotRun("Only SELECT is supported: barnabas sql changes nothing.")
    return Statement(text, tree, tuple(dict.fromkeys(_topics(tree))))


def check_topics(statement: Statement, existing: Iterable[str]) -> None:
    known = set(existing)
    for name in statement.topics:
        if name not in known:
            raise CannotRun(no_such("topic", name, sorted(known)))


def no_such(noun: str, name: str, existing: Sequence[str], place: str = "") -> str:
    near = difflib.get_close_matches(name, existing, n=NEAR_NAMES_MAX)
    return f"There is no {noun} {name!r}{place}{f'; did you mean {_either(near)}?' if near else '.'}"


def _either(names: Sequence[str]) -> str:
    *others, last = [repr(each) for each in names]
    return f"{', '.join(others)} or {last}" if others else last


def table_name(table: exp.Table) -> str:
    """``orders.eu`` is one topic, with or without quotes."""
    return ".".join(part.name for part in table.parts)


def _topics(tree: exp.Expr) -> list[str]:
    from sqlglot import exp

    found = [
        (_position(table), table_name(table))
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier | exp.Dot) and table_name(table).lower() not in _hiding_names(table)
    ]
    return [name for _, name in sorted(found)]


def _hiding_names(table: exp.Table) -> set[str]:
    """Names of the common table expressions that this place of the query sees."""
    from sqlglot import exp

    names: set[str] = set()
    inside: exp.Expr = table
    around = table.parent
    while around is not None:
        if isinstance(around, exp.With):
            # A common table expression sees those before it.
            siblings = around.expressions
            names |= {each.alias.lower() for each in siblings[: _index_of(inside, siblings)]}
        elif isinstance(around, exp.Query) and (ctes := around.args.get("with_")) is not None and inside is not ctes:
            names |= {each.alias.lower() for each in ctes.expressions}
        inside, around = around, around.parent
    return names


def _index_of(one: Any, several: Sequence[Any]) -> int:
    return next(index for index, each in enumerate(several) if each is one)


def _position(table: exp.Table) -> int:
    return int(table.parts[0].meta.get("start", 0))


def _parse(text: str) -> exp.Expr:
    import sqlglot
    from sqlglot.errors import ParseError, TokenError
    from sqlglot.tokenizer_core import TokenType

    dialect = _dialect()
    # sqlglot logs a warning for statements that it does not know.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tokens = dialect.tokenize(text)
        found = [each for each in dialect.parser().parse(tokens, text) if each is not None]
    except ParseError as error:
        first = error.errors[0]
        near = f" near {first['highlight']!r}" if first.get("highlight") else ""
        raise SyntaxErrorInQuery(_at(text, f"Syntax error{near}", first["line"], first["col"])) from error
    except TokenError as error:
        raise SyntaxErrorInQuery(_at(text, "Syntax error: a quote is not closed", *_open_quote(text))) from error
    except RecursionError as error:
        raise CannotRun("The query is nested too deeply.") from error
    if not found:
        raise CannotRun("The query is empty.")
    if len(found) > 1:
        raise CannotRun("One query at a time; the shell and a pipe take several, each ended by a semicolon.")
    after_comma = {TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN, TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY}
    for one, other in pairwise(tokens):
        # sqlglot ignores superfluous commas; Spark does not.
        if one.token_type == TokenType.COMMA and other.token_type in after_comma:
            raise SyntaxErrorInQuery(_at(text, f"Syntax error near {other.text!r}", other.line, other.col))
    assert isinstance(found[0], sqlglot.exp.Expr)
    return found[0]


@cache
def _dialect() -> Any:
    """Functions stay as they are written, so that the embedded engine has one list of those that it
    supports, and CAST stays CAST."""
    from sqlglot.dialects.spark import Spark

    parser: Any = Spark.Parser

    class AsWritten(Spark):
        class Parser(parser):  # type: ignore[misc]
            FUNCTIONS: ClassVar[dict[str, Any]] = {}
            STRICT_CAST = True

    return AsWritten()


def _at(text: str, problem: str, line: int, column: int) -> str:
    hint = " Names with dashes are written in `backquotes`." if problem.endswith("'-'") else ""
    return f"{problem}, at line {line}, column {column}.{hint}"


def _open_quote(text: str) -> tuple[int, int]:
    """The line and the column of the quote or comment that does not end."""
    start = next((each.start() for each in _QUOTED.finditer(text) if each["open"] is not None), len(text))
    before = text[:start]
    return before.count("\n") + 1, start - before.rfind("\n")
