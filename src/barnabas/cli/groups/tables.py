"""The tables that describe a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import typer

from barnabas.cli.groups.description import Partitions
from barnabas.cli.terminal.output import print_table

MISSING = "-"


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]
    none: str  # shown in place of a table without rows


def print_tables(group: str, tables: Sequence[Table]) -> None:
    for index, (columns, rows, none) in enumerate(tables):
        if index:
            typer.echo()
        if rows:
            print_table(columns, rows)
        else:
            typer.echo(f"Group {group} has {none}.")


def partitions_text(partitions: Partitions) -> str:
    return " ".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in partitions.items()) or MISSING
