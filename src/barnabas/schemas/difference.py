"""One reason why two schemas are incompatible."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    """The name of the rule, as Confluent's registry gives it."""
    path: str
    """Where in the newer schema (or the reader's) the difference stands."""
    sentence: str
    """What differs, as a clause."""

    def __str__(self) -> str:
        return f"{self.kind} at {self.path}: {self.sentence}"


def type_changed(older: str, newer: str) -> Difference:
    return Difference("SCHEMA_TYPE_CHANGED", "/", f"the older schema is {older}, and this one is {newer}")
