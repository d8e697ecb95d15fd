"""The events that brokers log, as the tests see them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Event(NamedTuple):
    level: str
    name: str
    values: dict[str, Any]


class Events(list[Event]):
    def named(self, name: str) -> list[Event]:
        return [each for each in list(self) if each.name == name]
