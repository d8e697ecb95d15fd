"""Waiting for something to become true, with a bound no healthy run comes near."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 60.0


def until(condition: Callable[[], T | None], what: str, *, seconds_max: float = PATIENCE_SECONDS) -> T:
    """The first true value of ``condition``."""
    deadline = time.monotonic() + seconds_max
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {seconds_max:g} s in vain: {what}"
        time.sleep(0.01)
