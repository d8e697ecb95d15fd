"""How often a fault was used. The brokers of a cluster that run in threads share one count, so that
"the next three requests" are three, whichever brokers they reach."""

from __future__ import annotations

import threading


class FaultCount:
    def __init__(self, times: int | None) -> None:
        self._times = times
        self._lock = threading.Lock()
        self.used = 0

    def take(self) -> bool:
        """Whether the fault applies once more."""
        with self._lock:
            if self._times is not None and self.used >= self._times:
                return False
            self.used += 1
            return True
