"""A city of nine zones, its drivers and its passengers. Deterministic: a seed fixes a morning.

Each driver belongs to a zone and reports a position every ten seconds. The middle zone has as few
drivers as the others and most of the requests, so that prices rise there. Coordinates are metres.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

MORNING = datetime(2030, 1, 7, 8, 0, tzinfo=UTC)
ZONES = tuple(f"{row}-{column}" for row in "ABC" for column in "123")
BUSY_ZONE = "B-2"
ZONE_METRES = 1000
DRIVERS_PER_ZONE = 4
MINUTES = 6
REPORT_SECONDS = 10


def positions(*, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    drivers = [(f"driver-{zone}-{number}", zone) for zone in ZONES for number in range(DRIVERS_PER_ZONE)]
    # Drivers begin their shifts at different moments, so that zones differ.
    begins = {driver: chance.randrange(0, MINUTES * 30) for driver, _ in drivers}
    found = []
    for second in range(0, MINUTES * 60, REPORT_SECONDS):
        for driver, zone in drivers:
            if second >= begins[driver]:
                found.append({"driver": driver, "zone": zone, **_place(zone, chance), "at": _time(second)})
    return found


def requests(*, seed: int = 2) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [_request(number, second, chance) for number, second in enumerate(_moments(chance))]


def _request(number: int, second: int, chance: random.Random) -> dict[str, Any]:
    zone = BUSY_ZONE if chance.random() < 0.4 else chance.choice(ZONES)
    # A third of a second later than any report, so that no two events have the same time.
    at = _time(second, milliseconds=333 + number % 600)
    return {"request": number, "zone": zone, **_place(zone, chance), "ride_seconds": chance.randrange(60, 240), "at": at}


def _moments(chance: random.Random) -> Iterator[int]:
    second = 5
    while second < MINUTES * 60:
        yield second
        second += chance.randrange(1, 4)


def _place(zone: str, chance: random.Random) -> dict[str, int]:
    row, column = "ABC".index(zone[0]), int(zone[2]) - 1
    return {
        "x": column * ZONE_METRES + chance.randrange(ZONE_METRES),
        "y": row * ZONE_METRES + chance.randrange(ZONE_METRES),
    }


def _time(second: int, milliseconds: int = 0) -> str:
    return (MORNING + timedelta(seconds=second, milliseconds=milliseconds)).isoformat(timespec="milliseconds")
