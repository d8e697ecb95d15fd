"""The output of decoders: entries while a file makes sense, and one damage where it stops to make
sense.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One item of a file. ``fields`` are numbers, texts, bytes, and lists and dictionaries of
    these; ``depth`` is the level of nesting."""

    kind: str
    fields: dict[str, Any]
    depth: int = 0


class Damage(Exception):
    """The place where a file stops to make sense, and the reason. ``why`` continues the sentence
    "it is damaged at position 61:"."""

    def __init__(self, where: str, why: str, *, position: int | None = None, line: int | None = None) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why
        self.position = position
        self.line = line


def at_position(position: int, why: str) -> Damage:
    return Damage(f"position {position}", why, position=position)


def at_line(number: int, why: str) -> Damage:
    return Damage(f"line {number}", why, line=number)
