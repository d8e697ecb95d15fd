"""Long work on the event loop, in slices, so that other work that is ready can run in between.

A slice ends after a number of items, not of milliseconds: the simulation must take the same turns
on every machine. An item of metadata (a record to decode and replay, a partition to update) takes
10 to 50 microseconds, so :data:`ITEMS_PER_SLICE` of them occupy the loop for about 5 ms, and for
about 40 ms on a machine that shares each core among eight processes. Timeouts of heartbeats and
elections are seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

ITEMS_PER_SLICE = 100


async def in_slices(items: Iterable[T], size: int = ITEMS_PER_SLICE) -> AsyncIterator[T]:
    """Yields the items. Other tasks run after every ``size`` of them, and only then."""
    left = size
    for item in items:
        if not left:
            await asyncio.sleep(0)
            left = size
        left -= 1
        yield item
