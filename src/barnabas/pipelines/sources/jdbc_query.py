"""The SQL for the next rows of a table, and the position after them.

mode                     the next rows                                   finds
======================   =============================================   ===========================
bulk                     all, every time                                 everything, again and again
incrementing             those whose number is larger than the last      new rows
                         one
timestamp+incrementing   those changed later than the last one, or       new rows and changed ones
                         then and with a larger number

Positions are texts that the database made of its values and parses again: no type, precision or
time zone is lost on the way through the JVM and Python. Rows without the number, or without the
time, are never found. Neither are rows whose transaction ends after a later number was read:
``delay`` (of timestamp+incrementing) leaves out the latest moments until such transactions are
over.
"""

# ruff: noqa: S608 - names are quoted, and values are literals of our own making or parameters

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from barnabas.pipelines.jdbc_database import JdbcDatabase

MODES = ("bulk", "incrementing", "timestamp+incrementing")
# Columns added to the table's own.
ROW, AT, NUMBER = "barnabas_row", "barnabas_at", "barnabas_number"
_WHOLE_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class Position:
    """The position of the last row that was read."""

    at: str | None  # None except with timestamp+incrementing
    number: str

    def to_json(self) -> str:
        return json.dumps({"at": self.at, "number": self.number})

    @staticmethod
    def from_json(text: str) -> Position | None:
        """None for the position of bulk, which is empty."""
        said = json.loads(text)
        return Position(said["at"], said["number"]) if said is not None else None


@dataclass(frozen=True, slots=True)
class JdbcQuery:
    database: JdbcDatabase
    table: str
    mode: str
    number: str | None  # the incrementing column
    at: str | None  # the timestamp column
    delay_ms: int

    def rows_after(self, position: Position | None, rows_max: int) -> str:
        """The next ``rows_max`` rows, in their order: ``barnabas_row`` numbers them. Bulk has no
        maximum and no order."""
        name, text = self.database.dialect.name, self.database.dialect.text_type
        if self.mode == "bulk":
            return f"SELECT t.*, 0 AS {ROW} FROM {name(self.table)} t"
        assert self.number is not None
        order = [name(each) for each in (self.at, self.number) if each is not None]
        where = [f"t.{each} IS NOT NULL" for each in order]
        if self.at is not None and self.delay_ms:
            where.append(f"t.{name(self.at)} <= {self._moments_ago()}")
        if position is not None:
            where.append(self._after(position))
        texts = [f"CAST(t.{name(self.number)} AS {text}) AS {NUMBER}"]
        if self.at is not None:
            texts.append(f"CAST(t.{name(self.at)} AS {text}) AS {AT}")
        by = ", ".join(f"t.{each}" for each in order)
        rows = f"SELECT t.*, {', '.join(texts)} FROM {name(self.table)} t WHERE {' AND '.join(where)} ORDER BY {by} LIMIT {rows_max}"
        # Numbered outside, so that the limit comes first and the database need not number the whole
        # table.
        return f"SELECT n.*, ROW_NUMBER() OVER (ORDER BY {', '.join(f'n.{each}' for each in order)}) AS {ROW} FROM ({rows}) n"

    def schema(self) -> str:
        return f"SELECT t.* FROM {self.database.dialect.name(self.table)} t WHERE 1 = 0"

    def _after(self, position: Position) -> str:
        assert self.number is not None
        number = f"t.{self.database.dialect.name(self.number)}"
        if self.at is None:
            return f"{number} > {literal(position.number)}"
        assert position.at is not None
        at, then = f"t.{self.database.dialect.name(self.at)}", literal(position.at)
        return f"({at} > {then} OR ({at} = {then} AND {number} > {literal(position.number)}))"

    def _moments_ago(self) -> str:
        if self.database.is_sqlite:
            return f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{self.delay_ms / 1000:.3f} seconds')"
        if self.database.is_mariadb:
            return f"CURRENT_TIMESTAMP(6) - INTERVAL {self.delay_ms * 1000} MICROSECOND"
        return f"CURRENT_TIMESTAMP - INTERVAL '{self.delay_ms} milliseconds'"


def literal(text: str) -> str:
    """A number stays a number: SQLite sorts numbers before texts in a column without a type."""
    return text if _WHOLE_NUMBER.fullmatch(text) else "'" + text.replace("'", "''") + "'"
