"""Threads that wait for the remote store, separate from those that wait for disks: an unreachable
store slows down nothing local.

The limit of threads is read again whenever one becomes free, since the settings change while a
broker runs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

# Threads exist only while they are needed; more than this do not make a store faster.
THREADS_MAX = 64


class TooManyWaiting(Exception):
    """The queue is full; the caller may try again later."""


class Workers:
    def __init__(self, name: str, limit: Callable[[], int], *, waiting_max: Callable[[], int] | None = None) -> None:
        self._executor = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix=name)
        self._limit = limit
        self._waiting_max = waiting_max
        self._waiting: deque[tuple[asyncio.Future[Any], Callable[[], Any]]] = deque()
        self.busy = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """The result or exception of ``job``. If the future is cancelled before its turn, ``job``
        is never called."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._waiting_max is not None and len(self._waiting) >= self._waiting_max():
            outcome.set_exception(TooManyWaiting())
            return outcome
        self._waiting.append((outcome, job))
        self._begin()
        return outcome

    def _begin(self) -> None:
        while self._waiting and self.busy < min(THREADS_MAX, max(1, self._limit())):
            outcome, job = self._waiting.popleft()
            if outcome.done():
                continue
            self.busy += 1
            working = asyncio.get_running_loop().run_in_executor(self._executor, job)
            working.add_done_callback(lambda done, outcome=outcome: self._ended(done, outcome))  # type: ignore[misc]

    def _ended(self, done: asyncio.Future[Any], outcome: asyncio.Future[Any]) -> None:
        self.busy -= 1
        failure = None if done.cancelled() else done.exception()
        if outcome.done():
            pass
        elif done.cancelled():
            outcome.cancel()
        elif failure is not None:
            outcome.set_exception(failure)
        else:
            outcome.set_result(done.result())
        self._begin()

    def stop(self) -> None:
        for outcome, _ in self._waiting:
            outcome.cancel()
        self._waiting.clear()
        # Do not block shutdown on an unreachable store.
        self._executor.shutdown(wait=False, cancel_futures=True)
