"""A rate over the last few windows of time.

The samples are Kafka's: each begins with the first event after the previous one is complete, and
lives until ``samples`` windows after its last event. A young rate is divided by almost the whole
span, so a client that was idle may send a burst of ``samples - 1`` windows at once.
"""

from __future__ import annotations

import math

from barnabas.model.dataclass import dataclass

# The largest number that a response can carry: 24 days. A large request to a tiny quota would have
# to wait longer.
WAIT_MS_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Windows:
    """``quota.window.num`` and ``quota.window.size.seconds``."""

    samples: int = 11
    size_ms: int = 1000

    @property
    def span_ms(self) -> int:
        return self.samples * self.size_ms


@dataclass(slots=True)
class _Sample:
    start_ms: int
    last_event_ms: int
    value: float = 0.0

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_event_ms = now_ms
        self.value = 0.0


class WindowedRate:
    __slots__ = ("_current", "_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        sample = self._sample(now_ms)
        sample.value += value
        sample.last_event_ms = now_ms

    def per_second(self, now_ms: int) -> float:
        span_ms = self.span_ms(now_ms)
        return sum(each.value for each in self._samples) / span_ms * 1000

    def observe(self, now_ms: int) -> float:
        """The same rate without any change, for readers on other threads."""
        windows = self._windows
        live = [each for each in list(self._samples) if now_ms - each.last_event_ms < windows.span_ms]
        span_ms = self._span_ms(now_ms - min((each.start_ms for each in live), default=now_ms))
        return sum(each.value for each in live) / span_ms * 1000

    def span_ms(self, now_ms: int) -> int:
        """The time that the rate is taken over: the age of the oldest sample, and never less than
        all windows but one and the part of the current one."""
        self._purge(now_ms)
        return self._span_ms(now_ms - min((each.start_ms for each in self._samples), default=now_ms))

    def _span_ms(self, elapsed: int) -> int:
        windows = self._windows
        missing = max(0, windows.samples - 1 - elapsed // windows.size_ms)
        return max(1, elapsed + missing * windows.size_ms)

    def _sample(self, now_ms: int) -> _Sample:
        """The sample that an event of this time belongs to."""
        if not self._samples:
            self._samples.append(_Sample(now_ms, now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms < self._windows.size_ms:
            return sample
        # One more than the windows: a sample that began before the span may reach into it.
        self._current = (self._current + 1) % (self._windows.samples + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms, now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _purge(self, now_ms: int) -> None:
        for each in self._samples:
            if now_ms - each.last_event_ms >= self._windows.span_ms:
                each.reset(now_ms)


def delay_ms(rate: WindowedRate, quota: float, now_ms: int) -> int:
    """How long to wait until the rate is within the quota again, if nothing more comes; 0 if it is
    now."""
    value = rate.per_second(now_ms)
    if not value > quota:
        return 0
    if quota <= 0:
        # A quota of nothing, which only an old controller accepts: no wait is long enough.
        return rate.span_ms(now_ms)
    # Java's rounding: a half goes up.
    return math.floor(min(WAIT_MS_MAX, (value - quota) / quota * rate.span_ms(now_ms) + 0.5))
