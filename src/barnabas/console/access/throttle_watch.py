"""Removes the throttles of a reassignment when it is done.

Kafka keeps a throttle until a tool removes it, and a forgotten one slows replicas down that come
back after a failure. The console looks until no partition moves, for a day at most. If it is
stopped before, the page of reassignments still shows the throttles, with a button to remove them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.reassignments import clear_throttles, ongoing_reassignments
from barnabas.console.errors import ConsoleError

LOOK_SECONDS: Final = 3.0
WATCH_SECONDS_MAX: Final = 24 * 3600.0


async def clear_throttles_when_done(client: ClusterClient, topics: Iterable[str]) -> None:
    deadline = time.monotonic() + WATCH_SECONDS_MAX
    while time.monotonic() < deadline:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            if not await ongoing_reassignments(client):
                await clear_throttles(client, topics)
                return
        except ConsoleError:
            # The cluster may be unreachable for a while; the throttles are still set.
            continue
