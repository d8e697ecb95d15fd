"""Wait until something is true. All of tests/ waits through this module.

A test waits for a state and never for a time: :func:`until` asks a condition again and again, and
fails with a sentence that names the awaited state and the value or error that it saw last. A wait
ends as soon as the condition holds, so a generous bound costs nothing in a run that passes; a
tight one fails on a machine that is starved. Only a test whose claim *is* a duration has a bound of
its own.

:func:`until_async` is the same inside an event loop. It takes the time from that loop, so that on a
simulated loop it waits in simulated time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Below pytest's timeout of a test (300 s), so that the sentence of the wait is printed first.
PATIENCE_SECONDS = 180.0
# For Spark, which starts in a minute on a starved machine, and for clusters that lose nodes all the
# time: there a client that hangs inside a call is noticed after 50 s, and its group moves on later.
# Tests that use it raise pytest's timeout.
LONG_PATIENCE_SECONDS = 500.0
PAUSE_SECONDS = 0.01
# A condition often asks a broker. To ask it a hundred times a second during a wait of seconds would
# keep the processors from what is awaited.
PAUSE_SECONDS_MAX = 0.05
SEEN_CHARACTERS_MAX = 3000

Errors = type[BaseException] | tuple[type[BaseException], ...]


def until(
    condition: Callable[[], T | None],
    what: str,
    *,
    seen: Callable[[], object] | None = None,
    retry_on: Errors = (),
    seconds_max: float = PATIENCE_SECONDS,
    pause_seconds: float | None = None,
) -> T:
    """The first true value of ``condition``.

    ``what`` completes the sentence "not within 180 s: ...". ``seen()`` describes the state for the
    failure, where the last value of the condition does not. An error of ``retry_on`` counts as "not
    yet"; any other ends the wait at once, so a condition may assert that waiting makes sense.
    Without ``pause_seconds``, a pause is a tenth of the wait so far, within limits.
    """
    wait = _Wait(what, seen, time.monotonic, seconds_max)
    while True:
        try:
            value = condition()
        except retry_on as error:
            wait.failed(error)
        else:
            if value:
                return value
            wait.saw(value)
        time.sleep(wait.pause_seconds() if pause_seconds is None else pause_seconds)


async def until_async(
    condition: Callable[[], T | None],
    what: str,
    *,
    seen: Callable[[], object] | None = None,
    retry_on: Errors = (),
    seconds_max: float = PATIENCE_SECONDS,
    pause_seconds: float = PAUSE_SECONDS,
) -> T:
    """As :func:`until`; other tasks of the running loop go on meanwhile."""
    wait = _Wait(what, seen, asyncio.get_running_loop().time, seconds_max)
    while True:
        try:
            value = condition()
        except retry_on as error:
            wait.failed(error)
        else:
            if value:
                return value
            wait.saw(value)
        await asyncio.sleep(pause_seconds)


class _Wait:
    """The bound of one wait, and the sentence for its end."""

    def __init__(self, what: str, seen: Callable[[], object] | None, clock: Callable[[], float], seconds_max: float) -> None:
        self._what = what
        self._seen = seen
        self._clock = clock
        self._seconds_max = seconds_max
        self._deadline = clock() + seconds_max

    def pause_seconds(self) -> float:
        waited = self._clock() - (self._deadline - self._seconds_max)
        return min(max(PAUSE_SECONDS, waited / 10), PAUSE_SECONDS_MAX)

    def saw(self, value: object) -> None:
        if self._clock() >= self._deadline:
            raise AssertionError(self._sentence(self._seen() if self._seen else value))

    def failed(self, error: BaseException) -> None:
        if self._clock() >= self._deadline:
            raise AssertionError(self._sentence(self._seen() if self._seen else error)) from error

    def _sentence(self, last: object) -> str:
        described = last if isinstance(last, str) else repr(last)
        return f"not within {self._seconds_max:g} s: {self._what}; last seen: {described[-SEEN_CHARACTERS_MAX:]}"
