"""Splits input into statements. A semicolon ends one, unless it is in quotes or in a comment."""

from __future__ import annotations

import re

# A quoted text with Spark's escapes, a quoted name, a comment, or the end of a statement. Quotes
# and comments that are still open take the rest of the text.
_TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*(?:'|\Z)"
    r'|"(?:[^"\\]|\\.)*(?:"|\Z)'
    r"|`[^`]*(?:`|\Z)"
    r"|--[^\n]*"
    r"|/\*.*?(?:\*/|\Z)"
    r"|;",
    re.DOTALL,
)
_COMMENT = ("--", "/*")


def split_statements(text: str) -> tuple[list[str], str]:
    """The complete statements without their semicolons, and the text after the last one."""
    statements = []
    start = 0
    for token in _TOKEN.finditer(text):
        if token[0] == ";":
            statements.append(text[start : token.start()])
            start = token.end()
    return [each for each in statements if not is_blank(each)], text[start:]


def is_blank(text: str) -> bool:
    """Nothing but spaces and comments."""
    return not _TOKEN.sub(lambda token: "" if token[0].startswith(_COMMENT) else token[0], text).strip()


def is_complete(text: str) -> bool:
    statements, rest = split_statements(text)
    return bool(statements) and is_blank(rest)
