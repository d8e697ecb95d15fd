"""Runs MovieFlix's evening: ``python -m examples.movieflix.run``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.movieflix.evening import progress
from examples.stage import Stage, open_stage

HERE = Path(__file__).parent
PIPELINES = (HERE / "resume.yaml", HERE / "recommend.yaml")


def play(stage: Stage) -> None:
    stage.create("movie.progress", partitions=3)
    stage.create("movie.resume", "movie.profiles", "movie.recommendations", compacted=True)
    stage.send("movie.progress", progress(), key="person")
    stage.run(*PIPELINES)


def show(stage: Stage) -> None:
    profiles, next_shows = stage.latest("movie.profiles"), stage.latest("movie.recommendations")
    last = {each["person"]: each for each in sorted(stage.latest("movie.resume").values(), key=lambda each: str(each["at"]))}
    table = Table("person", "goes on with", "at", "prefers", "next show", title="when people come back")
    for person in sorted(profiles, key=lambda name: int(name.rpartition("-")[2])):
        place = last[person]
        minutes = f"{place['position_seconds'] // 60}:{place['position_seconds'] % 60:02d}"
        table.add_row(person, place["show"], minutes, profiles[person]["favourite"], next_shows[person]["show"])
    Console().print(table)


if __name__ == "__main__":
    with open_stage(PIPELINES) as stage:
        play(stage)
        show(stage)
