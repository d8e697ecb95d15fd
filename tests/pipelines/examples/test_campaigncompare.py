"""CampaignCompare: clicks and purchases count for the campaigns that plain Python finds."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from examples.campaigncompare.campaigns import hour
from examples.campaigncompare.run import play, show

# Several queries, one after the other: slow on a busy machine.
pytestmark = pytest.mark.timeout(900)

if TYPE_CHECKING:
    from examples.stage import Stage


def test_clicks_and_purchases_count_for_the_campaign_that_was_shown_before_them(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    play(stage)
    found = {
        name: (each["shown"], each["clicked"], each["bought"], each["cost_cents"], each["revenue_cents"])
        for name, each in stage.latest("campaign.comparison").items()
    }
    assert found == expected()
    show(stage)
    assert "the best first" in capsys.readouterr().out


def expected() -> dict[str, tuple[int, int, int, int, int]]:
    happened = hour()
    shown_by_id = {each["showing"]: each for each in happened.showings}
    in_time = {
        each["click"]: each
        for each in happened.clicks
        if _between(shown_by_id[each["clicked_showing"]]["shown_at"], each["clicked_at"]) <= timedelta(minutes=10)
    }
    bought = [
        each
        for each in happened.purchases
        if each["bought_click"] in in_time
        and _between(in_time[each["bought_click"]]["clicked_at"], each["bought_at"]) <= timedelta(minutes=30)
    ]
    assert 0 < len(in_time) < len(happened.clicks), "some clicks come too late"
    assert 0 < len(bought) < len(happened.purchases), "so do some purchases"
    campaign_of = {each["click"]: shown_by_id[each["clicked_showing"]]["campaign"] for each in happened.clicks}
    shown = Counter(each["campaign"] for each in happened.showings)
    clicks = Counter(campaign_of[click] for click in in_time)
    purchases = Counter(campaign_of[each["bought_click"]] for each in bought)
    cost = {name: sum(each["cost_cents"] for each in happened.showings if each["campaign"] == name) for name in shown}
    revenue = {name: sum(each["cents"] for each in bought if campaign_of[each["bought_click"]] == name) for name in shown}
    return {name: (shown[name], clicks[name], purchases[name], cost[name], revenue[name]) for name in shown}


def _between(earlier: str, later: str) -> timedelta:
    return datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
