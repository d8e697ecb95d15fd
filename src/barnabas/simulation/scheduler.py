"""Time that passes only when everything due has been done: one heap of (time, what to do).

What is due at the same microsecond happens in the order in which it was asked for, so a run depends on its seed and on nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, TypeAlias

MICROSECONDS = 1_000_000
# The simulated epoch in the middle of which all worlds begin: any fixed number would do, but timestamps should look like timestamps.
START_US = 1_700_000_000 * MICROSECONDS

Deed: TypeAlias = Callable[..., object]


class Appointment:
    """Something that will be done, unless it is cancelled first."""

    __slots__ = ("_cancelled", "arguments", "deed", "due_us")

    def __init__(self, due_us: int, deed: Deed, arguments: tuple[Any, ...]) -> None:
        self.due_us = due_us
        self.deed = deed
        self.arguments = arguments
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        # What it held on to need not be kept until its time.
        self.deed, self.arguments = _nothing, ()

    def cancelled(self) -> bool:
        return self._cancelled


def _nothing() -> None:
    pass


class Scheduler:
    def __init__(self) -> None:
        self.now_us = START_US
        self.steps = 0
        self._heap: list[tuple[int, int, Appointment]] = []
        self._serial = 0

    @property
    def now_ms(self) -> int:
        return self.now_us // 1000

    @property
    def elapsed_ms(self) -> int:
        return (self.now_us - START_US) // 1000

    def after_us(self, delay_us: int, deed: Deed, *arguments: Any) -> Appointment:
        appointment = Appointment(self.now_us + max(0, delay_us), deed, arguments)
        self._serial += 1
        heapq.heappush(self._heap, (appointment.due_us, self._serial, appointment))
        return appointment

    def after_ms(self, delay_ms: float, deed: Deed, *arguments: Any) -> Appointment:
        return self.after_us(int(delay_ms * 1000), deed, *arguments)

    def step(self) -> bool:
        """Do the next thing. False when there is nothing left to do, ever."""
        heap = self._heap
        while heap:
            due_us, _, appointment = heapq.heappop(heap)
            if appointment.cancelled():
                continue
            self.now_us = due_us
            self.steps += 1
            appointment.deed(*appointment.arguments)
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
