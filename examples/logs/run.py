"""Brings the logs together: ``python -m examples.logs.run``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.logs.machines import SERVICES, lines, measurements
from examples.stage import Stage, open_stage

HERE = Path(__file__).parent
PIPELINES = (HERE / "aggregate.yaml",)


def play(stage: Stage) -> None:
    stage.create("metrics", "ops.unreadable", *(f"logs.{service}" for service in SERVICES))
    stage.create("ops.minutes", "ops.troubles", "ops.loads", compacted=True)
    for service in SERVICES:
        stage.send(f"logs.{service}", lines(service))
    stage.send("metrics", measurements(), key="host")
    stage.run(*PIPELINES)


def show(stage: Stage) -> None:
    table = Table("minute", "service", "lines", "errors", "95 % faster than", title="services by minute")
    troubles = stage.latest("ops.troubles")
    for key, each in sorted(stage.latest("ops.minutes").items(), key=lambda item: (str(item[1]["minute"]), item[0])):
        style = "bold red" if key in troubles else None
        row = (each["minute"][11:16], each["service"], str(each["lines"]), str(each["errors"]), f"{each['slow_ms']:.0f} ms")
        table.add_row(*row, style=style)
    busiest = max(each["average"] for each in stage.latest("ops.loads").values() if each["name"] == "cpu")
    console = Console()
    console.print(table)
    console.print(f"{len(stage.values('ops.unreadable'))} lines could not be read; the busiest minute of a CPU was {busiest:.0f} %")


if __name__ == "__main__":
    with open_stage(PIPELINES) as stage:
        play(stage)
        show(stage)
