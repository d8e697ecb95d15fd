"""The levels of compatibility: which older versions must get on with a new schema, and how.

============================  =================================================================
level                         a new schema must...
============================  =================================================================
``NONE``                      nothing
``BACKWARD``                  read data of the latest version
``FORWARD``                   write data that the latest version can read
``FULL``                      both
``..._TRANSITIVE``            the same for every older version
============================  =================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from barnabas.schemas.difference import Difference
from barnabas.schemas.schema import ParsedSchema, Policy
from barnabas.schemas.steps import Steps


class Level(StrEnum):
    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def transitive(self) -> bool:
        return self.value.endswith("_TRANSITIVE")

    @property
    def reads_older(self) -> bool:
        """Whether the new schema must read older data."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def read_by_older(self) -> bool:
        """Whether older schemas must read new data."""
        return self.value.startswith(("FORWARD", "FULL"))


class Breach(NamedTuple):
    older: int
    """The position of the older schema in the sequence that was given."""
    forward: bool
    """Whether the older schema cannot read new data; otherwise the new one cannot read old data."""
    difference: Difference


def breaches(
    new: ParsedSchema, older: Sequence[ParsedSchema], level: Level, policy: Policy = Policy.STRICT, steps: Steps | None = None
) -> list[Breach]:
    """Why ``new`` may not follow ``older``, which are the existing versions, oldest first. Empty if
    it may. The newest version with a difference is the only one reported, as registries do.
    """
    relevant = range(len(older)) if level.transitive else range(len(older))[-1:]
    for index in reversed(relevant):
        found = list(_between(new, older[index], index, level, policy, steps))
        if found:
            return found
    return []


def _between(new: ParsedSchema, older: ParsedSchema, index: int, level: Level, policy: Policy, steps: Steps | None) -> Iterator[Breach]:
    if level.reads_older:
        yield from (Breach(index, False, each) for each in new.unreadable(older, policy, steps))
    if level.read_by_older:
        yield from (Breach(index, True, each) for each in older.unreadable(new, policy, steps))
