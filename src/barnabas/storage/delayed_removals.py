"""Removes files of deleted segments and partitions some time later, on a worker thread.

A reader that holds a region of such a file has ``file.delete.delay.ms`` to finish. The names of
these files and directories contain ``.deleted`` or ``-delete``; the next start removes the ones
that a shutdown or a crash left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.storage.log_directory import LogDirectory


class DelayedRemovals:
    def __init__(self, executor: Executor, on_failure: Callable[[LogDirectory, OSError], None]) -> None:
        self._executor = executor
        self._on_failure = on_failure
        self._waiting: dict[asyncio.TimerHandle, None] = {}

    def later(self, directory: LogDirectory, remove: Callable[[], None], delay_ms: int) -> None:
        loop = asyncio.get_running_loop()

        def begin() -> None:
            self._waiting.pop(handle, None)
            if directory.online:
                loop.run_in_executor(self._executor, remove).add_done_callback(lambda done: self._removed(done, directory))

        handle = loop.call_later(delay_ms / 1000, begin)
        self._waiting[handle] = None

    def _removed(self, done: asyncio.Future[None], directory: LogDirectory) -> None:
        failure = None if done.cancelled() else done.exception()
        if isinstance(failure, OSError):
            self._on_failure(directory, failure)

    def stop(self) -> None:
        for handle in self._waiting:
            handle.cancel()
        self._waiting.clear()
