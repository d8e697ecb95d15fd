"""The limit for bytes per second to the remote store or from it, measured over windows as Kafka
does."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock

from barnabas.env.clock import Clock
from barnabas.replication.throttle import ByteRate

# How often a waiting call checks again.
LOOK_SECONDS = 0.1


class Stopped(Exception):
    """The call that waited for the quota was stopped."""


class RemoteQuota:
    """Used from the loop's thread and from workers."""

    def __init__(self, limit: Callable[[], int], clock: Clock, *, windows: int, window_seconds: int) -> None:
        """``limit()`` returns the present setting, in bytes per second."""
        self._limit = limit
        self._clock = clock
        self._rate = ByteRate(windows, window_seconds * 1000)
        self._lock = Lock()

    def exceeded(self) -> bool:
        with self._lock:
            return self._rate.per_second(self._clock.monotonic_ms()) > self._limit()

    def record(self, size_bytes: int) -> None:
        with self._lock:
            self._rate.record(size_bytes, self._clock.monotonic_ms())

    def take(self, size_bytes: int, stopped: Event) -> None:
        """On a worker thread: wait until there is room, then count the bytes. Raises
        :class:`Stopped` when ``stopped`` is set."""
        while self.exceeded():
            if stopped.wait(LOOK_SECONDS):
                raise Stopped
        if stopped.is_set():
            raise Stopped
        self.record(size_bytes)
