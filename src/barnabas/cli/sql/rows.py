"""Prints the rows of an answer to stdout: a table for people, JSON lines or CSV for programs."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import json
import sys
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any

import typer

from barnabas.cli.terminal.output import print_table


class Format(Enum):
    TABLE = auto()
    JSON = auto()
    CSV = auto()


class RowPrinter:
    """Called once for an answer, or repeatedly while a query continues: CSV has the column names
    once, a table each time."""

    def __init__(self, format: Format) -> None:  # noqa: A002 - what it is
        self.format = format
        self._named = False

    def print(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        match self.format:
            case Format.TABLE:
                print_table(columns, [[_cell(each) for each in row] for row in rows])
            case Format.JSON:
                for row in rows:
                    typer.echo(json.dumps({name: plain(each) for name, each in zip(columns, row, strict=True)}, ensure_ascii=False))
            case Format.CSV:
                self._print_csv(columns, rows)

    def _print_csv(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        if not self._named:
            writer.writerow(columns)
            self._named = True
        for row in rows:
            writer.writerow(["" if each is None else _cell(each) for each in row])


def plain(value: Any) -> Any:
    """A value as JSON: times in ISO 8601, bytes in base64, structures as objects."""
    match value:
        case datetime.datetime():
            # Spark returns times in the session's zone, UTC, without a zone attached.
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
