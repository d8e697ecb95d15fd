"""Directories of partitions that were taken away, removed some time later and by a worker.

Who holds a file region of a deleted topic has ``file.delete.delay.ms`` to finish. What a stop or a crash leaves behind says ``-delete`` in
its name, and is removed at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from barnabas.storage.log_directory import LogDirectory

Marked = tuple[LogDirectory, str]


class Removals:
    def __init__(self, executor: Executor, on_failure: Callable[[LogDirectory, OSError], None]) -> None:
        self._executor = executor
        self._on_failure = on_failure
        self._waiting: dict[asyncio.TimerHandle, None] = {}

    def later(self, marked: Sequence[Marked], delay_ms: int) -> None:
        loop = asyncio.get_running_loop()

        def remove() -> None:
            self._waiting.pop(handle, None)
            for directory, path in marked:
                if directory.online:
                    removed = loop.run_in_executor(self._executor, directory.remove_marked, path)
                    removed.add_done_callback(lambda done, directory=directory: self._removed(done, directory))  # type: ignore[misc]

        handle = loop.call_later(delay_ms / 1000, remove)
        self._waiting[handle] = None

    def _removed(self, done: asyncio.Future[None], directory: LogDirectory) -> None:
        failure = None if done.cancelled() else done.exception()
        if isinstance(failure, OSError):
            self._on_failure(directory, failure)

    def stop(self) -> None:
        for handle in self._waiting:
            handle.cancel()
        self._waiting.clear()
