"""Blocking calls on a few threads; their results arrive as promises, on the loop's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from barnabas.model.promise import Promise

T = TypeVar("T")


class Worker:
    """Threads start with the first call."""

    def __init__(self, name: str, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._closed = False

    def run(self, work: Callable[[], T]) -> Promise[T]:
        """``work`` must turn its failures into values: an exception goes to the loop's handler,
        and the promise stays open. After :meth:`close` it does so as well."""
        promise: Promise[T] = Promise()
        if self._closed:
            return promise
        loop = asyncio.get_running_loop()

        def deliver(done: Future[T]) -> None:
            if not self._closed and not done.cancelled():
                promise.resolve(done.result())

        def finished(done: Future[T]) -> None:
            # The node may stop while a call hangs; its loop is gone when the call returns.
            if not self._closed and not loop.is_closed():
                loop.call_soon_threadsafe(deliver, done)

        self._threads.submit(work).add_done_callback(finished)
        return promise

    def close(self) -> None:
        """Does not wait for a call that hangs; its result is dropped."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
