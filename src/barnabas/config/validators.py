"""Bounds on a value beyond its type: small value objects, like the validators of Kafka's ConfigDef.

Each decides whether it allows a value, and describes in words the values that it allows, so that an
error can name the bounds. The words of a :class:`Between` follow a noun ("a 32-bit integer"
``between 1 and 9``); the others stand alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from barnabas.config.values import Value
from barnabas.model.dataclass import dataclass


class Validator(Protocol):
    @property
    def words(self) -> str: ...

    def allows(self, value: Value) -> bool: ...


@dataclass(frozen=True, slots=True)
class Between:
    """A number within bounds, both of them included."""

    low: float
    high: float | None
    or_exactly: int | None = None

    @property
    def words(self) -> str:
        bounds = f"of at least {_plain(self.low)}" if self.high is None else f"between {_plain(self.low)} and {_plain(self.high)}"
        return bounds if self.or_exactly is None else f"{bounds}, or {self.or_exactly}"

    def allows(self, value: Value) -> bool:
        assert isinstance(value, int | float)
        # Negated comparisons, because Kafka lets NaN through, and every comparison with NaN is
        # false.
        outside = value < self.low or (self.high is not None and value > self.high)
        return not outside or value == self.or_exactly


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few texts."""

    choices: tuple[str, ...]
    ignoring_case: bool = False

    @property
    def words(self) -> str:
        return f"one of {', '.join(self.choices)}{' in any case' if self.ignoring_case else ''}"

    def allows(self, value: Value) -> bool:
        assert isinstance(value, str)
        return (value.lower() if self.ignoring_case else value) in self.choices


@dataclass(frozen=True, slots=True)
class Matching:
    """Any value that passes a test function. The function takes the whole value, for a list a
    tuple.

    ``in_kafkas_words`` is the reason that Kafka gives, with ``{name}`` and ``{value}`` in it.
    """

    words: str
    test: Callable[[Any], bool]
    in_kafkas_words: str = ""

    def allows(self, value: Value) -> bool:
        return self.test(value)


@dataclass(frozen=True, slots=True)
class ListOf:
    """Items that are not blank, each one of the choices; without choices any text is valid, unless
    ``each`` has a test of its own.

    A repeated item counts once: Kafka drops duplicates with a warning before it validates.
    """

    choices: tuple[str, ...] = ()
    may_be_empty: bool = True
    each: Matching | None = None

    @property
    def words(self) -> str:
        of = f" of {', '.join(self.choices)}" if self.choices else f" of {self.each.words}" if self.each else ""
        return f"a comma-separated list{of}" if self.may_be_empty else f"a comma-separated list{of} that is not empty"

    def allows(self, value: Value) -> bool:
        assert isinstance(value, tuple)
        if not value:
            return self.may_be_empty
        known = all(item and (not self.choices or item in self.choices) for item in value)
        return known and (self.each is None or all(map(self.each.allows, value)))


NOT_EMPTY = Matching("a text that is not empty", bool, "String must be non-empty")


def between(low: float, high: float) -> Between:
    return Between(low, high)


def at_least(low: float) -> Between:
    return Between(low, None)


def one_of(*choices: str) -> OneOf:
    return OneOf(choices)


def list_of(*choices: str, may_be_empty: bool = True) -> ListOf:
    return ListOf(choices, may_be_empty)


def each(words: str, test: Callable[[str], bool]) -> Matching:
    """A list in which every item passes. Unlike a :class:`ListOf`, it may repeat items, and its
    test decides about blank ones.
    """
    return Matching(words, lambda items: all(map(test, items)))


def _plain(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)
