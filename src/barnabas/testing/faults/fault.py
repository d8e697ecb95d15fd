"""What a test holds of a fault: it counts the uses, waits for them and undoes the fault."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

_PAUSE_SECONDS = 0.005


class Fault:
    """A fault of a running cluster. Use it as a context, which undoes it at the end, or undo it by
    hand. The end of the cluster undoes it too."""

    def __init__(self, description: str, *, undo: Callable[[], None], used: Callable[[], int]) -> None:
        self._description = description
        self._undo: Callable[[], None] | None = undo
        self._used = used

    def __repr__(self) -> str:
        return f"<Fault: {self._description}, {'in force' if self._undo is not None else 'undone'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.undo()

    def undo(self) -> None:
        """Harmless the second time."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    @property
    def used(self) -> int:
        """How many requests it has affected so far."""
        return self._used()

    def await_used(self, times: int = 1, *, timeout: float = 30.0) -> None:
        """Waits until it has affected ``times`` requests, and raises ``TimeoutError`` if it has not
        within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while self.used < times:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._description}: {self.used} of {times} requests came within {timeout:g} seconds.")
            time.sleep(_PAUSE_SECONDS)
