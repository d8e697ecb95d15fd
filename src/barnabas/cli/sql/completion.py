"""Completes the word before the cursor: topics after FROM and JOIN; columns, functions and words of
SQL elsewhere; the shell's commands at the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

_KEYWORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL OUTER INNER CROSS ON AS AND OR NOT IN IS NULL LIKE BETWEEN
CASE WHEN THEN ELSE END DISTINCT UNION ALL INTERSECT EXCEPT WITH EXISTS CAST INTERVAL ASC DESC NULLS FIRST LAST OVER PARTITION TRUE
FALSE DESCRIBE SHOW TOPICS
"""
_FUNCTIONS = """
abs avg ceil coalesce concat contains count count_if current_date current_timestamp date_format date_trunc day dense_rank endswith
explode floor from_json get_json_object greatest hour if instr lag lead least length lower max min minute month now nullif nvl rank
replace round row_number size split sqrt startswith substring sum to_date to_timestamp trim unix_millis unix_seconds upper window year
"""
KEYWORDS, FUNCTIONS = _KEYWORDS.split(), _FUNCTIONS.split()
COMMANDS = (r"\?", r"\d", r"\dt", r"\engine", r"\format", r"\q", r"\timing", ".help", ".quit")
_LAST_WORD = re.compile(r"(?:`[^`\s]*|[\w.\-]*)\Z")
_WANTS_TOPIC = re.compile(r"(?:\b(?:from|join|describe|desc|table)|\\d|\.schema)\s+\Z", re.IGNORECASE)
# The list of FROM goes on after a comma.
_WANTS_ANOTHER = re.compile(r"\bfrom\s+[\w.`\-]+(?:\s+\w+)?\s*,\s*\Z", re.IGNORECASE)
_MENTIONED = re.compile(r"`([^`]+)`|([\w.\-]+)")
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class Names(Protocol):
    def topics(self) -> list[str]: ...

    def columns(self, topic: str) -> list[str]: ...


def complete(before: str, whole: str, names: Names) -> tuple[str, list[str]]:
    """The word that is being typed, and the words that it may become. ``whole`` is the statement,
    also after the cursor: FROM often comes later than the columns."""
    if before.lstrip().startswith(("\\", ".")) and " " not in before.strip():
        typed = before.lstrip()
        return typed, _starting_with(typed, COMMANDS)
    found = _LAST_WORD.search(before)
    typed = found[0] if found is not None else ""
    ahead = before[: len(before) - len(typed)]
    topics = names.topics()
    if _WANTS_TOPIC.search(ahead) or _WANTS_ANOTHER.search(ahead):
        return typed, _starting_with(typed, map(quoted, topics))
    prefix, _, _ = typed.rpartition(".")
    columns = sorted({quoted(column) for topic in _mentioned(whole, topics) for column in names.columns(topic)})
    if prefix and "`" not in prefix:
        # An alias or a topic stands before the dot.
        return typed, _starting_with(typed, [f"{prefix}.{each}" for each in columns])
    keywords = [each.lower() if typed.islower() else each for each in KEYWORDS]
    return typed, _starting_with(typed, [*columns, *FUNCTIONS, *keywords]) if typed else columns


def quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def _mentioned(text: str, topics: Iterable[str]) -> list[str]:
    words = {first or second for first, second in _MENTIONED.findall(text)}
    return [each for each in topics if each in words]


def _starting_with(typed: str, words: Iterable[str]) -> list[str]:
    start = typed.lstrip("`").lower()
    return list(dict.fromkeys(each for each in words if each.lstrip("`").lower().startswith(start)))
