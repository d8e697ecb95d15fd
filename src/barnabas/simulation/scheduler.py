"""Time that advances only when everything due is done: one heap of (time, callback).

Callbacks that are due at the same microsecond run in the order in which they were scheduled, so a
run depends on its seed and on nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, TypeAlias

MICROSECONDS = 1_000_000
# The simulated time at which all worlds begin: any fixed number would do, but timestamps should
# look like timestamps.
START_US = 1_700_000_000 * MICROSECONDS

Action: TypeAlias = Callable[..., object]


class ScheduledCall:
    """A callback that will run, unless it is cancelled first."""

    __slots__ = ("_cancelled", "action", "arguments", "due_us")

    def __init__(self, due_us: int, action: Action, arguments: tuple[Any, ...]) -> None:
        self.due_us = due_us
        self.action = action
        self.arguments = arguments
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        # Drop the references now instead of at its time.
        self.action, self.arguments = _nothing, ()

    def cancelled(self) -> bool:
        return self._cancelled


def _nothing() -> None:
    pass


class Scheduler:
    def __init__(self) -> None:
        self.now_us = START_US
        self.steps = 0
        self._heap: list[tuple[int, int, ScheduledCall]] = []
        self._serial = 0

    @property
    def now_ms(self) -> int:
        return self.now_us // 1000

    @property
    def elapsed_ms(self) -> int:
        return (self.now_us - START_US) // 1000

    def after_us(self, delay_us: int, action: Action, *arguments: Any) -> ScheduledCall:
        call = ScheduledCall(self.now_us + max(0, delay_us), action, arguments)
        self._serial += 1
        heapq.heappush(self._heap, (call.due_us, self._serial, call))
        return call

    def after_ms(self, delay_ms: float, action: Action, *arguments: Any) -> ScheduledCall:
        return self.after_us(int(delay_ms * 1000), action, *arguments)

    def step(self) -> bool:
        """Run the next callback. Returns False when none is left."""
        heap = self._heap
        while heap:
            due_us, _, call = heapq.heappop(heap)
            if call.cancelled():
                continue
            self.now_us = due_us
            self.steps += 1
            call.action(*call.arguments)
            return True
        return False

    def next_us(self) -> int | None:
        heap = self._heap
        while heap and heap[0][2].cancelled():
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def run_for_ms(self, duration_ms: float, *, after_each: Callable[[], object] = _nothing) -> None:
        end_us = self.now_us + int(duration_ms * 1000)
        while (next_us := self.next_us()) is not None and next_us <= end_us:
            self.step()
            after_each()
        self.now_us = max(self.now_us, end_us)
