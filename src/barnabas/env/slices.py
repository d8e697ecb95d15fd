"""Long work on the event loop, done in slices, with everything else that is ready in between.

A slice ends after a number of items, not after a number of milliseconds: the simulation must take the same turns on every machine. An item
of metadata (a record to decode and replay, a partition to follow) takes 10 to 50 microseconds, so :data:`ITEMS_PER_SLICE` of them keep the
loop for about 5 ms, and for some 40 ms on a machine whose cores are shared by eight. Heartbeats and elections have seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

ITEMS_PER_SLICE = 100


async def in_slices(items: Iterable[T], size: int = ITEMS_PER_SLICE) -> AsyncIterator[T]:
    """The items one after the other. Other tasks and callbacks run after every ``size`` of them, and never in between."""
    left = size
    for item in items:
        if not left:
            await asyncio.sleep(0)
            left = size
        left -= 1
        yield item
