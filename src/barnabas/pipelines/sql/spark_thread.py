"""Calls into Spark from a thread of their own, so that Ctrl-C can cancel them.

A call into the JVM that is interrupted leaves a connection with an answer that the next call would
take for its own. So the main thread only waits: on Ctrl-C it cancels the jobs over a connection of
its own, and the call ends with an error in its thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

_WATCH_SECONDS = 0.2
# How long a cancelled call may take to end. A call that only plans has no jobs to cancel.
CANCEL_SECONDS_MAX = 60.0


class SparkThread:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spark")

    def run(self, work: Callable[[], T], cancel: Callable[[], None]) -> T:
        """The result of ``work``. On Ctrl-C, ``cancel`` makes it end."""
        running = self._thread.submit(work)
        try:
            while not wait([running], _WATCH_SECONDS).done:
                pass
        except KeyboardInterrupt:
            cancel()
            wait([running], CANCEL_SECONDS_MAX)
            raise
        return running.result()

    def close(self) -> None:
        self._thread.shutdown(wait=False)
