"""A bounded cache that threads share: the entry that was used longest ago goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """``seconds_max`` is how long an entry holds; None for ever, for what never changes."""

    def __init__(self, entries_max: int, seconds_max: float | None = None) -> None:
        self._entries_max = entries_max
        self._seconds_max = seconds_max
        self._entries: OrderedDict[Hashable, tuple[V, float]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            value, since = found
            if self._seconds_max is not None and monotonic() - since > self._seconds_max:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return value

    def put(self, key: Hashable, value: V) -> V:
        with self._lock:
            self._entries[key] = value, monotonic()
            self._entries.move_to_end(key)
            if len(self._entries) > self._entries_max:
                self._entries.popitem(last=False)
        return value

    def get_or(self, key: Hashable, make: Callable[[], V]) -> V:
        """The entry, or a new one. Threads that miss at once each make one: a request twice is
        cheaper than threads that wait for each other's timeouts."""
        found = self.get(key)
        return found if found is not None else self.put(key, make())

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
