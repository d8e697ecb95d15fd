"""A token bucket: use is paid with tokens, which come at the rate of the quota.

It may fall below zero: a request is admitted while there are tokens at all, so one large request
passes and those after it wait until it is paid.
"""

from __future__ import annotations

import math

from barnabas.security.quotas.windowed_rate import WAIT_MS_MAX, Windows


class TokenBucket:
    __slots__ = ("_last_ms", "_per_second", "_tokens", "_windows")

    def __init__(self, windows: Windows, per_second: float) -> None:
        self._windows = windows
        self._per_second = per_second
        self._tokens = 0.0
        self._last_ms: int | None = None

    def set_rate(self, per_second: float) -> None:
        self._per_second = per_second

    def tokens(self, now_ms: int) -> float:
        self._refill(now_ms)
        return self._tokens

    def observe(self, now_ms: int) -> float:
        """The same number without any change, for readers on other threads."""
        return self._filled(now_ms)

    def take(self, count: float, now_ms: int) -> None:
        self._refill(now_ms)
        self._tokens = min(self._burst, self._tokens - count)

    def delay_ms(self, now_ms: int) -> int:
        """How long until the debt is paid; 0 without debt."""
        tokens = self.tokens(now_ms)
        if not tokens < 0:
            return 0
        if self._per_second <= 0:
            # A rate of nothing, which only an old controller accepts: no wait is long enough.
            return self._windows.span_ms
        return math.floor(min(WAIT_MS_MAX, -tokens / self._per_second * 1000 + 0.5))

    @property
    def _burst(self) -> float:
        return self._windows.span_ms / 1000 * self._per_second

    def _refill(self, now_ms: int) -> None:
        self._tokens = self._filled(now_ms)
        self._last_ms = now_ms

    def _filled(self, now_ms: int) -> float:
        if self._last_ms is None:
            # A new bucket is full.
            return self._burst
        return min(self._burst, self._tokens + self._per_second * (now_ms - self._last_ms) / 1000)
