"""The deadlines of a shard, by name. The caller brings the time and takes the timers that are
due.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, NamedTuple

from barnabas.coordinators.outcome import Outcome

# Cancelled deadlines stay in the heap until they come up; when the heap grows beyond this multiple
# of the live timers, it is rebuilt.
_STALE_SHARE_MAX = 2

Expire = Callable[[int], Outcome[Any]]


class _Timer(NamedTuple):
    deadline_ms: int
    serial: int
    expire: Expire


class Timers:
    """``expire(now_ms)`` of a due timer is an operation like any other: it returns an outcome."""

    def __init__(self) -> None:
        self._timers: dict[Hashable, _Timer] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        self._serials = count()

    def __len__(self) -> int:
        return len(self._timers)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._timers

    def set(self, name: Hashable, deadline_ms: int, expire: Expire) -> None:
        """Replaces the timer of this name."""
        timer = _Timer(deadline_ms, next(self._serials), expire)
        self._timers[name] = timer
        heapq.heappush(self._heap, (deadline_ms, timer.serial, name))
        if len(self._heap) > _STALE_SHARE_MAX * len(self._timers) + 64:
            self._heap = [(each.deadline_ms, each.serial, name) for name, each in self._timers.items()]
            heapq.heapify(self._heap)

    def cancel(self, name: Hashable) -> None:
        self._timers.pop(name, None)

    def clear(self) -> None:
        self._timers.clear()
        self._heap.clear()

    @property
    def next_deadline_ms(self) -> int | None:
        while self._heap:
            deadline_ms, serial, name = self._heap[0]
            timer = self._timers.get(name)
            if timer is not None and timer.serial == serial:
                return deadline_ms
            heapq.heappop(self._heap)
        return None

    def take_due(self, now_ms: int) -> Expire | None:
        """Remove and return the next timer that is due."""
        deadline_ms = self.next_deadline_ms
        if deadline_ms is None or deadline_ms > now_ms:
            return None
        _, _, name = heapq.heappop(self._heap)
        return self._timers.pop(name).expire
