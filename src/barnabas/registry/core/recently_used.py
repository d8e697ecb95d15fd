"""A bounded map that forgets what was used least recently.

Several threads may share one. Each call of the dictionary below is one step of the interpreter,
during which no other thread runs; between two calls another thread may have removed the key.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RecentlyUsed(Generic[K, V]):
    def __init__(self, kept_max: int) -> None:
        self._kept_max = kept_max
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        found = self._kept.get(key)
        if found is not None:
            with suppress(KeyError):
                self._kept.move_to_end(key)
        return found

    def put(self, key: K, value: V) -> None:
        self._kept[key] = value
        if len(self._kept) > self._kept_max:
            with suppress(KeyError):
                self._kept.popitem(last=False)
