"""The output of ``barnabas sql --json-rows``, line by line. Pure.

An object with columns begins an answer; arrays are its rows. A stream of whole answers begins a new
one with each. The last line that the program writes to stderr says what it did, or why not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

# The program's own errors begin with its name; librdkafka's lines begin with a level.
_PROGRAM: Final = "barnabas: "
_OF_LIBRARY: Final = "%"
_SENTENCE_CHARACTERS_MAX: Final = 2_000


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    """With Spark's names: bigint, double, string, timestamp."""


def read_output_line(line: bytes) -> list[Column] | list[Any] | None:
    """The columns of a new answer, a row, or None for a line that is neither."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list):
        return found
    try:
        return [Column(str(each["name"]), str(each["type"])) for each in found["columns"]]
    except (LookupError, TypeError):
        return None


def last_sentence(stderr: bytes) -> str:
    lines = [each.strip() for each in stderr.decode("utf-8", "replace").splitlines()]
    told = [each for each in lines if each and not each.startswith(_OF_LIBRARY)]
    problems = [each for each in told if each.startswith(_PROGRAM)]
    sentence = (problems or told or [""])[-1].removeprefix(_PROGRAM)
    return sentence.replace("; --engine spark can", "")[:_SENTENCE_CHARACTERS_MAX]


def cell_text(value: Any) -> str:
    """A value as a cell of the table shows it; None is for the template to mark."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
