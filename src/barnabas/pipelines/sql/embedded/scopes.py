"""The tables that a SELECT reads, and how its names are found in them.

Names have no case, as in Spark. Inside DuckDB, columns are called c0, c1, ... and tables s0, s1,
...: names of topics and fields reach it nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from barnabas.pipelines.column_types import ColumnType, Map, Struct
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.embedded.values import Value, text_literal
from barnabas.pipelines.sql.syntax import no_such

# Words that Spark replaces by a function if there is no column of that name.
_FUNCTION_WORDS = frozenset(
    [
        "all",
        "current_catalog",
        "current_database",
        "current_date",
        "current_schema",
        "current_time",
        "current_timestamp",
        "current_timezone",
        "current_user",
        "grouping__id",
        "localtimestamp",
        "session_user",
        "user",
    ]
)


class Part(Protocol):
    """The part of a topic that a query needs."""

    def narrow(self, column: str, sign: str, literal: int) -> None: ...


@dataclass(slots=True)
class Source:
    """A table of FROM. ``columns``: names (None: not known) and types; ``used``: the columns of a
    topic that the query needs."""

    alias: str | None  # as in the query
    internal: str
    columns: Sequence[tuple[str | None, ColumnType]]
    topic: str | None = None
    is_empty: bool = False  # a topic without records: its fields are unknown
    used: list[int] = field(default_factory=list)
    part: Part | None = None

    def column(self, index: int, name: str | None) -> Value:
        kind = self.columns[index][1]
        if self.topic is None:
            return Value(f"{self.internal}.c{index}", kind, name)
        if index not in self.used:
            self.used.append(index)
        found = self.columns[index][0]
        assert found is not None
        return Value(f"{self.internal}.c{self.used.index(index)}", kind, name, column=(self.internal, found))


@dataclass(slots=True)
class Scope:
    sources: list[Source]
    outer: Scope | None = None

    def resolve(self, parts: Sequence[str]) -> Value:
        found = self.find(parts)
        if found is not None:
            return found
        around = self.outer
        while around is not None:
            if around.find(parts) is not None:
                raise NotProven("a subquery that uses columns of the query around it")
            around = around.outer
        if parts[-1].lower() in _FUNCTION_WORDS or not self.sources:
            raise NotProven(f"the name {parts[-1]}")
        raise CannotRun(self._unknown(parts))

    def find(self, parts: Sequence[str]) -> Value | None:
        if len(parts) > 1:
            named = [each for each in self.sources if each.alias is not None and each.alias.lower() == parts[0].lower()]
            found = self._find_column(named, parts[1], parts[2:])
            if found is not None:
                return found
        return self._find_column(self.sources, parts[0], parts[1:])

    def _find_column(self, sources: Sequence[Source], name: str, fields: Sequence[str]) -> Value | None:
        places = [
            (source, index)
            for source in sources
            for index, (each, _) in enumerate(source.columns)
            if each is not None and each.lower() == name.lower()
        ]
        if len(places) > 1:
            raise NotProven(f"the column {name}, which there is twice")
        if not places:
            return None
        source, index = places[0]
        value = source.column(index, name)
        for each in fields:
            value = field_of(value, each)
        return value

    def _unknown(self, parts: Sequence[str]) -> str:
        name = ".".join(parts)
        empty = [each.topic for each in self.sources if each.is_empty]
        if empty:
            return f"There is no column {name!r}: topic {empty[0]!r} is empty, so its fields are unknown."
        known = [column for source in self.sources for column, _ in source.columns if column is not None]
        place = f" in topic {self.sources[0].topic!r}" if len(self.sources) == 1 and self.sources[0].topic else ""
        return no_such("column", name, known, place)


def field_of(value: Value, name: str) -> Value:
    """``more.a``"""
    full = None if value.name is None else f"{value.name}.{name}"
    if isinstance(value.type, Map):
        raise NotProven("headers without brackets")
    if not isinstance(value.type, Struct):
        raise NotProven(f"the field {name} of a column that has no fields")
    for known, kind in value.type.fields:
        if known.lower() == name.lower():
            return Value(f"struct_extract({value.sql}, {text_literal(known)})", kind, full, alias=name)
    raise CannotRun(no_such("field", name, [known for known, _ in value.type.fields], f" in {value.name or 'this column'}"))
