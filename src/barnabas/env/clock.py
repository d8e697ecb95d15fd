"""Time as a port: cores receive ``now_ms``, shells ask a clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def wall_ms(self) -> int:
        """Milliseconds since 1970, for timestamps of records. May jump."""

    def monotonic_ms(self) -> int:
        """Milliseconds for measuring waits. Never goes back."""


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
