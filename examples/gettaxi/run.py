"""Runs GetTaxi's morning: ``python -m examples.gettaxi.run``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.gettaxi.city import ZONES, positions, requests
from examples.stage import Stage, open_stage

HERE = Path(__file__).parent
SURGE, MATCHES = HERE / "surge.yaml", HERE / "matches.yaml"
PIPELINES = (SURGE, MATCHES)


def play(stage: Stage) -> None:
    stage.create("taxi.positions", "taxi.requests", "taxi.matches", partitions=3)
    stage.create("taxi.surges", compacted=True)
    stage.send("taxi.positions", positions(), key="driver")
    stage.send("taxi.requests", requests(), key="request")
    stage.run(*PIPELINES)


def show(stage: Stage) -> None:
    surges = stage.latest("taxi.surges").values()
    minutes = sorted({each["minute"] for each in surges})
    factors = {(each["zone"], each["minute"]): each["surge"] for each in surges}
    table = Table("zone", *(minute[11:16] for minute in minutes), title="surge by zone and minute")
    for zone in ZONES:
        table.add_row(zone, *(str(factors.get((zone, minute), "-")) for minute in minutes))
    matches = stage.values("taxi.matches")
    metres = sorted(each["metres"] for each in matches if each["driver"] is not None)
    console = Console()
    console.print(table)
    console.print(
        f"{len(matches)} requests, {len(metres)} of them matched, half of those with a driver within {metres[len(metres) // 2]} m"
    )


if __name__ == "__main__":
    with open_stage(PIPELINES) as stage:
        play(stage)
        show(stage)
