"""How the value of a union looks: it may have to say which branch it is."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple


class UnionForm(StrEnum):
    PLAIN = "PLAIN"
    """The value alone."""
    NAMED_RECORDS = "NAMED_RECORDS"
    """A record of a union that has several is a pair of its full name and its value."""
    INDEXED = "INDEXED"
    """Every value is a :class:`Branch`."""


class Branch(NamedTuple):
    number: int
    """Of the branch, from 0."""
    value: Any
