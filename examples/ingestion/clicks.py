"""Clicks on a site around midnight. Deterministic: a seed fixes a night.

The site's producer retries without being idempotent, so it sends one in twenty clicks twice, as old
producers do.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

BEFORE_MIDNIGHT = datetime(2030, 8, 14, 23, 50, tzinfo=UTC)
PAGES = ("/", "/shop", "/shop/hats", "/help", "/jobs")
CLICKS = 1200
SECONDS = 1200


def clicks(*, seed: int = 1) -> list[dict[str, Any]]:
    """The clicks in the order of sending, with those sent twice."""
    chance = random.Random(seed)
    found = []
    for number in range(CLICKS):
        at = BEFORE_MIDNIGHT + timedelta(seconds=number * SECONDS / CLICKS)
        page = chance.choices(PAGES, (8, 5, 3, 1, 1))[0]
        click = {"id": number, "page": page, "bytes": chance.randrange(200, 9000), "at": at.isoformat(timespec="milliseconds")}
        found += [click, click] if chance.random() < 0.05 else [click]
    return found
