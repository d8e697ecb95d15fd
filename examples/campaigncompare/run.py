"""Runs CampaignCompare's hour: ``python -m examples.campaigncompare.run``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.campaigncompare.campaigns import hour
from examples.stage import Stage, open_stage

HERE = Path(__file__).parent
ATTRIBUTE, COMPARE = HERE / "attribute.yaml", HERE / "compare.yaml"
PIPELINES = (ATTRIBUTE, COMPARE)


def play(stage: Stage) -> None:
    stage.create("campaign.showings", "campaign.clicks", "campaign.purchases", "campaign.results")
    stage.create("campaign.comparison", compacted=True)
    happened = hour()
    stage.send("campaign.showings", happened.showings, key="showing")
    stage.send("campaign.clicks", happened.clicks, key="clicked_showing")
    stage.send("campaign.purchases", happened.purchases, key="bought_click")
    stage.run(*PIPELINES)


def show(stage: Stage) -> None:
    found = sorted(stage.latest("campaign.comparison").values(), key=lambda each: each["cost_cents"] - each["revenue_cents"])
    table = Table("campaign", "shown", "clicked", "%", "bought", "cost", "revenue", "earned", title="campaigns, the best first")
    for each in found:
        earned = each["revenue_cents"] - each["cost_cents"]
        counts = (str(each[name]) for name in ("shown", "clicked", "click_percent", "bought"))
        amounts = (f"{cents / 100:,.2f}" for cents in (each["cost_cents"], each["revenue_cents"], earned))
        table.add_row(each["campaign"], *counts, *amounts)
    Console().print(table)


if __name__ == "__main__":
    with open_stage(PIPELINES) as stage:
        play(stage)
        show(stage)
