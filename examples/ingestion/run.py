"""Takes a night's clicks in: ``python -m examples.ingestion.run``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from examples.ingestion.clicks import clicks
from examples.stage import Stage, open_stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
PIPELINES = (HERE / "lake.yaml", HERE / "speed.yaml")


def play(stage: Stage) -> None:
    stage.create("site.clicks", partitions=3)
    stage.create("site.minutes", compacted=True)
    stage.send("site.clicks", clicks(), key="id")
    stage.run(*PIPELINES)


def from_the_lake(session: SparkSession, folder: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Clicks and bytes by day and page."""
    table = session.read.format("delta").load(str(folder / "clicks"))
    rows = table.groupBy("day", "page").agg({"id": "count", "bytes": "sum"}).collect()
    return {(str(row["day"]), row["page"]): (row["count(id)"], row["sum(bytes)"]) for row in rows}


def from_the_topic(stage: Stage) -> dict[tuple[str, str], tuple[int, int]]:
    """The same, added up from minutes."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for each in stage.latest("site.minutes").values():
        place = each["minute"][:10], each["page"]
        counts[place] += each["clicks"]
        sizes[place] += each["bytes"]
    return {place: (counts[place], sizes[place]) for place in counts}


def show(stage: Stage) -> None:
    lake, speed = from_the_lake(stage.session, stage.folder), from_the_topic(stage)
    table = Table("day", "page", "clicks in the lake", "in the topic", "bytes in the lake", "in the topic", title="one night, two layers")
    for day, page in sorted(lake):
        here, there = lake[day, page], speed[day, page]
        table.add_row(day, page, f"{here[0]:,}", f"{there[0]:,}", f"{here[1]:,}", f"{there[1]:,}")
    Console().print(table)


if __name__ == "__main__":
    with open_stage(PIPELINES) as stage:
        play(stage)
        show(stage)
