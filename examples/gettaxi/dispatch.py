"""Finds a driver for each request: the nearest free one of its zone with a recent report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# Reports come every ten seconds; a driver that missed three may have gone home.
HEARD_OF_MS_MAX = 30_000


class Dispatch(StatefulProcessor):
    """The state of a zone: each driver's last position, its time, and the end of a ride."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._drivers = handle.getMapState("drivers", "driver STRING", "x INT, y INT, at_ms BIGINT, busy_until_ms BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        (zone,) = key
        # Rows of one batch come in any order; sort them by the time of the event.
        events = pd.concat(list(rows)).sort_values("at", kind="stable")
        drivers = {driver: tuple(found) for (driver,), found in self._drivers.iterator()}
        before = dict(drivers)
        matches = []
        for event in events.itertuples(index=False):
            now_ms = int(event.at.value // 1_000_000)
            if event.driver is not None:
                busy = drivers[event.driver][3] if event.driver in drivers else 0
                drivers[event.driver] = (event.x, event.y, now_ms, busy)
            else:
                matches.append((int(event.request), zone, *_match(drivers, event, now_ms)))
        for driver, found in drivers.items():
            if before.get(driver) != found:
                self._drivers.updateValue((driver,), found)
        yield pd.DataFrame(matches, columns=["request", "zone", "driver", "metres"])

    def close(self) -> None:
        pass


def _match(drivers: dict[str, tuple[int, int, int, int]], request: Any, now_ms: int) -> tuple[str | None, int | None]:
    """The driver, who is on the ride from now on, and the distance. None if no driver is free."""
    free = [
        ((x - request.x) ** 2 + (y - request.y) ** 2, driver)
        for driver, (x, y, at_ms, busy_until_ms) in drivers.items()
        if busy_until_ms <= now_ms and now_ms - at_ms <= HEARD_OF_MS_MAX
    ]
    if not free:
        return None, None
    square, driver = min(free)
    x, y, at_ms, _ = drivers[driver]
    drivers[driver] = (x, y, at_ms, now_ms + int(request.ride_seconds) * 1000)
    return driver, round(square**0.5)
