"""Three campaigns, shown to people who click sometimes and buy now and then. A seed fixes an hour.

A click counts for a campaign when it comes within ten minutes of the showing, a purchase when it
comes within half an hour of the click. Some come later, and count for no campaign. Amounts are
cents.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

NOON = datetime(2030, 6, 1, 12, 0, tzinfo=UTC)
SHOWINGS = 600
MINUTES = 60


class Campaign(NamedTuple):
    name: str
    cost_cents: int  # Of one showing.
    clicks: float  # The share of showings.
    purchases: float  # The share of clicks.


CAMPAIGNS = (Campaign("billboard", 4, 0.10, 0.30), Campaign("newsletter", 1, 0.20, 0.25), Campaign("video", 9, 0.30, 0.50))


class Hour(NamedTuple):
    showings: list[dict[str, Any]]
    clicks: list[dict[str, Any]]
    purchases: list[dict[str, Any]]


def hour(*, seed: int = 1) -> Hour:
    chance = random.Random(seed)
    happened = Hour([], [], [])
    for number in range(SHOWINGS):
        campaign = CAMPAIGNS[number % len(CAMPAIGNS)]
        shown = NOON + timedelta(seconds=number * MINUTES * 60 / SHOWINGS)
        happened.showings.append(
            {"showing": f"s{number}", "campaign": campaign.name, "cost_cents": campaign.cost_cents, "shown_at": _text(shown)}
        )
        if chance.random() >= campaign.clicks:
            continue
        clicked = shown + timedelta(seconds=chance.randrange(1, 720))
        happened.clicks.append({"click": f"c{number}", "clicked_showing": f"s{number}", "clicked_at": _text(clicked)})
        if chance.random() < campaign.purchases:
            bought = clicked + timedelta(seconds=chance.randrange(1, 2400))
            happened.purchases.append({"bought_click": f"c{number}", "cents": chance.randrange(500, 5000), "bought_at": _text(bought)})
    return happened


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
