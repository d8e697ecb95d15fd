"""A node's settings after parsing: typed, complete, and marked as set by the user or default.

``settings["num.partitions"]`` is a value of any type; the accessors named after types are for code
that knows the type. They assert, because asking for a type that the key does not have is our
mistake and never the user's.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.config.keys import Value
from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class BrokerSettings:
    """Every setting of a node. Its ``repr`` names no values, because some are secrets."""

    values: Mapping[str, Value]
    """One value for every key of BROKER_KEYS."""
    explicit: frozenset[str]
    """The keys that the user set, as opposed to defaults."""
    of_listeners: Mapping[str, Mapping[str, Value]]
    """The values of ``listener.name.<listener>.<key>``: by the listener's name in upper case, then
    by the rest of the name.
    """
    of_plugins: Mapping[str, str]
    """Settings under prefixes that only a plugin understands, as raw text."""

    def __repr__(self) -> str:
        return f"BrokerSettings({len(self.explicit)} of {len(self.values)} set by the user)"

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def flag(self, name: str) -> bool:
        value = self.values[name]
        assert isinstance(value, bool), name
        return value

    def integer(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int), name
        return value

    def integer_or_none(self, name: str) -> int | None:
        return None if self.values[name] is None else self.integer(name)

    def number(self, name: str) -> float:
        value = self.values[name]
        assert isinstance(value, float), name
        return value

    def text(self, name: str) -> str:
        value = self.values[name]
        assert isinstance(value, str), name
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self.values[name] is None else self.text(name)

    def strings(self, name: str) -> tuple[str, ...]:
        """The items of a list; a list that was never set has none."""
        value = self.values[name]
        assert value is None or isinstance(value, tuple), name
        return value or ()
