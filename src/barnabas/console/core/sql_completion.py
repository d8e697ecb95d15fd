"""Completes the word before the cursor of a query. Pure.

Topics come behind FROM and JOIN; columns of the topics that the query names, functions and words of
SQL elsewhere. The functions are those that the embedded engine answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_KEYWORD_TEXT: Final = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL OUTER INNER CROSS ON AS AND OR NOT IN IS NULL LIKE BETWEEN
CASE WHEN THEN ELSE END DISTINCT UNION ALL INTERSECT EXCEPT WITH EXISTS CAST INTERVAL ASC DESC OVER PARTITION TRUE FALSE DESCRIBE
"""
_FUNCTION_TEXT: Final = """
abs avg ceil coalesce concat count count_if date_trunc day dense_rank floor greatest hour if lag lead least length lower max min minute
month now nullif rank replace round row_number sqrt startswith substring sum to_timestamp trim upper year
"""
_KEYWORDS: Final = _KEYWORD_TEXT.split()
_FUNCTIONS: Final = _FUNCTION_TEXT.split()
# Every topic has these beside the fields of its values.
RECORD_COLUMNS: Final = ("_key", "_partition", "_offset", "_timestamp", "_headers")
WORDS_MAX: Final = 30
COLUMNS_MAX: Final = 500
_LAST_WORD: Final = re.compile(r"(?:`[^`\s]*|[\w.\-]*)\Z")
_WANTS_TOPIC: Final = re.compile(r"\b(?:from|join|describe|desc|table)\s+\Z", re.IGNORECASE)
_WANTS_ANOTHER: Final = re.compile(r"\bfrom\s+[\w.`\-]+(?:\s+\w+)?\s*,\s*\Z", re.IGNORECASE)
_NAMES: Final = re.compile(r"`([^`]+)`|([\w.\-]+)")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    kind: str
    """topic, column, function or keyword"""


def named_topics(query: str, topics: Iterable[str]) -> list[str]:
    """Topics that the query names, in the order of the list."""
    words = {first or second for first, second in _NAMES.findall(query)}
    return [each for each in topics if each in words]


def wants_topic(before: str) -> bool:
    ahead = before[: len(before) - len(typed_word(before))]
    return bool(_WANTS_TOPIC.search(ahead) or _WANTS_ANOTHER.search(ahead))


def typed_word(before: str) -> str:
    found = _LAST_WORD.search(before)
    return found[0] if found is not None else ""


def completions(before: str, topics: Iterable[str], columns: Mapping[str, Iterable[str]]) -> list[Word]:
    """``before`` is the text up to the cursor; ``columns`` are those of the topics that the query
    names."""
    typed = typed_word(before)
    if wants_topic(before):
        return _beginning(typed, [Word(quoted(each), "topic") for each in topics])
    fields = dict.fromkeys(quoted(each) for names in columns.values() for each in names)
    prefix, dot, _ = typed.rpartition(".")
    if dot and "`" not in prefix:
        # An alias or a topic stands before the dot.
        return _beginning(typed, [Word(f"{prefix}.{each}", "column") for each in fields])
    known = [Word(each, "column") for each in fields]
    if typed:
        known += [Word(each, "function") for each in _FUNCTIONS]
        known += [Word(each.lower() if typed.islower() else each, "keyword") for each in _KEYWORDS]
    return _beginning(typed, known)


def quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '')}`"


def fields_of(values: Iterable[Any]) -> list[str]:
    """The fields of objects among the values, and the columns that every record has."""
    found: dict[str, None] = {}
    for value in values:
        if isinstance(value, dict):
            found |= dict.fromkeys(map(str, value))
    return [*list(found)[:COLUMNS_MAX], *RECORD_COLUMNS] if found else ["value", *RECORD_COLUMNS]


def read_json(value: bytes | None) -> Any:
    """None for bytes that are no JSON."""
    try:
        return json.loads(value) if value is not None else None
    except (ValueError, RecursionError):
        return None


def _beginning(typed: str, words: Iterable[Word]) -> list[Word]:
    start = typed.lstrip("`").lower()
    found = [each for each in words if each.text.lstrip("`").lower().startswith(start) and each.text != typed]
    return list(dict.fromkeys(found))[:WORDS_MAX]
