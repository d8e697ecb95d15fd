"""A mapping under construction: reads see the changes, the original stays unchanged, and nothing is
copied before the first change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Draft(Generic[K, V]):
    def __init__(self, original: Mapping[K, V]) -> None:
        self.original = original
        self.changed: set[K] = set()
        self._copy: dict[K, V] | None = None

    def get(self, key: K) -> V | None:
        return (self.original if self._copy is None else self._copy).get(key)

    def set(self, key: K, value: V) -> None:
        self._own()[key] = value
        self.changed.add(key)

    def remove(self, key: K) -> None:
        self._own().pop(key, None)
        self.changed.add(key)

    def _own(self) -> dict[K, V]:
        if self._copy is None:
            self._copy = dict(self.original)
        return self._copy

    def finish(self) -> Mapping[K, V]:
        return self.original if self._copy is None else self._copy
