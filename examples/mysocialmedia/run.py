"""Runs MySocialMedia's launch: ``python -m examples.mysocialmedia.run``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.mysocialmedia.launch_day import comments, likes, posts
from examples.stage import Stage, open_stage

HERE = Path(__file__).parent
TOTALS, TRENDING = HERE / "totals.yaml", HERE / "trending.yaml"
PIPELINES = (TOTALS, TRENDING)


def play(stage: Stage) -> None:
    stage.create("social.likes", "social.comments", "social.trending", partitions=3)
    stage.create("social.posts", "social.totals", compacted=True)
    stage.send("social.posts", posts(), key="post")
    stage.send("social.likes", likes(), key="post")
    stage.send("social.comments", comments(), key="post")
    stage.run(*PIPELINES)


def show(stage: Stage) -> None:
    authors = stage.latest("social.posts")
    totals = sorted(stage.latest("social.totals").values(), key=lambda each: (-each["likes"], each["post"]))
    table = Table("post", "author", "likes", "comments", title="all posts")
    for each in totals:
        table.add_row(each["post"], authors[each["post"]]["author"], str(each["likes"]), str(each["comments"]))
    console = Console()
    console.print(table)
    for each in sorted(stage.values("social.trending"), key=lambda each: str(each["until"])):
        console.print(
            f"trending until {each['until'][11:16]}: " + ", ".join(f"{post['post']} ({post['points']})" for post in each["posts"])
        )


if __name__ == "__main__":
    with open_stage(PIPELINES) as stage:
        play(stage)
        show(stage)
