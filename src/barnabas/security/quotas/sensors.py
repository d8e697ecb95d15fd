"""The measurements of the entities that a quota applies to, with a bound on their number.

A client chooses its own client id, so a default quota makes one entity for every id that any client
ever sends. Entities that were not used for an hour are therefore forgotten, and when there are too
many, the one that was used longest ago goes first: its use is forgotten with it, so it begins as a
new client does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")

# The user and the client id that share a quota; an empty part means that all values of it do.
Shared: TypeAlias = tuple[str, str]

# As in Kafka. A window spans seconds, so an entity that is idle for this long has no use on record.
IDLE_MS_MAX = 3_600_000
# An entity with its windows takes about two kilobytes, so this many take twenty megabytes.
ENTITIES_MAX = 10_000


class Sensors(Generic[T]):
    """One kind of quota: a measurement for each entity, the least recently used first."""

    __slots__ = ("_found", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._found: dict[Shared, tuple[T, int]] = {}

    def of(self, shared: Shared, now_ms: int) -> T:
        found = self._found.pop(shared, None)
        sensor = found[0] if found is not None else self._make()
        if found is None:
            self._drop_idle(now_ms)
        self._found[shared] = (sensor, now_ms)
        return sensor

    def _drop_idle(self, now_ms: int) -> None:
        while self._found:
            oldest = next(iter(self._found))
            if now_ms - self._found[oldest][1] < IDLE_MS_MAX and len(self._found) < ENTITIES_MAX:
                return
            del self._found[oldest]

    def latest(self, count_max: int) -> list[tuple[Shared, T]]:
        """The entities that were used last, in a copy: metrics are read on another thread."""
        return [(shared, sensor) for shared, (sensor, _) in list(self._found.items())[-count_max:]]

    def __len__(self) -> int:
        return len(self._found)

    def clear(self) -> None:
        self._found.clear()
