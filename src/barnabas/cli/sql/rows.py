"""Prints the rows of an answer to stdout: a table for people, JSON lines or CSV for programs."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any

import typer

from barnabas.cli.terminal.output import print_table

# Cells are folded when a table is too wide, but not to less than this.
FOLDED_WIDTH_MIN = 16
SPACE_BETWEEN = 2


class Format(Enum):
    TABLE = auto()
    JSON = auto()
    CSV = auto()
    ROWS = auto()


class RowPrinter:
    """Called once for an answer, or repeatedly while a query continues: CSV has the column names
    once, a table each time."""

    def __init__(self, format: Format) -> None:  # noqa: A002 - what it is
        self.format = format
        self._named = False

    def print(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], types: Sequence[str] = (), *, is_whole: bool = False) -> int:
        """The number of printed rows. ``types`` are Spark's names of those of the columns;
        ``is_whole`` answers take the place of the one before."""
        match self.format:
            case Format.TABLE:
                return _print_table(columns, [[_cell(each) for each in row] for row in rows])
            case Format.JSON:
                return self._print_json(columns, rows)
            case Format.CSV:
                return self._print_csv(columns, rows)
            case Format.ROWS:
                return self._print_rows(columns, rows, types, is_whole)

    def _print_json(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        count = 0
        for count, row in enumerate(rows, 1):  # noqa: B007 - counts
            typer.echo(json.dumps({name: plain(each) for name, each in zip(columns, row, strict=True)}, ensure_ascii=False))
        return count

    def _print_rows(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], types: Sequence[str], is_whole: bool) -> int:
        """An object with the columns begins an answer; columns of one name stay apart."""
        if not self._named or is_whole:
            kinds = list(types) or [""] * len(columns)
            typer.echo(json.dumps({"columns": [{"name": name, "type": kind} for name, kind in zip(columns, kinds, strict=True)]}))
            self._named = True
        count = 0
        for count, row in enumerate(rows, 1):  # noqa: B007 - counts
            typer.echo(json.dumps([plain(each) for each in row]))
        return count

    def _print_csv(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        if not self._named:
            writer.writerow(columns)
            self._named = True
        count = 0
        for count, row in enumerate(rows, 1):  # noqa: B007
            writer.writerow(["" if each is None else _cell(each) for each in row])
        return count


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """On a terminal that is too narrow for the columns, each row is a block with a line for each
    column."""
    if sys.stdout.isatty() and not rows:
        typer.echo("The answer has no rows.")
    elif sys.stdout.isatty() and _width(columns, rows) > shutil.get_terminal_size().columns:
        for number, row in enumerate(rows, 1):
            typer.echo(f"-- row {number}")
            print_table(("column", "value"), list(zip(columns, row, strict=True)))
    else:
        print_table(columns, rows)
    return len(rows)


def _width(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """The width of a table in which long cells are folded, but words and numbers are not."""
    widths = [
        max(len(name), *(min(len(str(row[index])), FOLDED_WIDTH_MIN) for row in rows)) + SPACE_BETWEEN for index, name in enumerate(columns)
    ]
    return sum(widths)


def plain(value: Any) -> Any:
    """A value as JSON: times in ISO 8601, bytes in base64, structures as objects."""
    match value:
        case datetime.datetime():
            # Both engines return times in UTC, without a zone attached.
            return value.isoformat() + ("" if value.tzinfo else "Z")
        case datetime.date():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return float(value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case dict():
            return {str(key): plain(each) for key, each in value.items()}
        case tuple() if hasattr(value, "asDict"):
            return {name: plain(each) for name, each in value.asDict().items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return value


def _cell(value: Any) -> Any:
    said = plain(value)
    return json.dumps(said, ensure_ascii=False) if isinstance(said, (dict, list, bool)) else said
