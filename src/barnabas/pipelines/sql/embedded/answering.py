"""Answers a query in this process: reads the records that it needs, and asks DuckDB."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from barnabas.pipelines.column_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Struct,
    spark_name,
)
from barnabas.pipelines.sql.embedded.engine import Engine
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.embedded.query_compiler import Part, TopicUse, compile_query
from barnabas.pipelines.sql.embedded.record_columns import RecordColumns
from barnabas.pipelines.sql.inference import KAFKA_COLUMNS, TableShape
from barnabas.pipelines.sql.syntax import Statement
from barnabas.pipelines.sql.topic_offsets import Bounds, TopicOffsets


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query may read. ``records`` are counted by offsets, before anything is read; ``bytes``
    are those of keys and values, counted while they are read."""

    records: int
    bytes: int


# Types of columns whose answers are compared with Spark's, beside decimals, structs and arrays.
_COMPARED = frozenset({BOOLEAN, INT, BIGINT, DOUBLE, STRING, BINARY, TIMESTAMP, DATE})
# About two seconds on one core; Spark needs longer than that to start.
AUTO = Limits(records=200_000, bytes=256 * 2**20)
# The user insists on this engine. The records are in its tables, of which a part may be in
# temporary files.
INSISTED = Limits(records=20_000_000, bytes=2 * 2**30)


@dataclass(frozen=True, slots=True)
class EmbeddedAnswer:
    columns: list[tuple[str, ColumnType]]
    rows: Iterator[tuple[Any, ...]]
    records: int  # that were read


def answer(
    statement: Statement,
    offsets: TopicOffsets,
    bounds: Mapping[str, Mapping[int, Bounds]],
    shapes: Mapping[str, TableShape],
    *,
    limits: Limits,
    limit: int | None,
) -> EmbeddedAnswer:
    """``bounds``: of all topics of the query, at its start."""
    compiled = compile_query(statement, shapes, now_micros=time.time_ns() // 1000, limit=limit)
    for name, use in compiled.topics.items():
        _check_types([shapes[name].columns[index] for index in use.used])
    ranges = {name: narrowed(offsets, name, bounds[name], use.part) for name, use in compiled.topics.items()}
    _check_records(ranges, compiled.records_max, limits)
    with ExitStack() as at_failure:
        engine = at_failure.enter_context(Engine())
        filling = _Filling(engine, offsets, limits, compiled.records_max)
        for name, use in compiled.topics.items():
            filling.fill(name, use, shapes[name], ranges[name])
        rows = engine.answer(compiled.sql, [kind for _, kind in compiled.columns])
        at_failure.pop_all()
    return EmbeddedAnswer(compiled.columns, _closing(engine, rows), filling.records)


def _check_types(columns: Sequence[tuple[str, ColumnType]]) -> None:
    """Samples of JSON have none of these; schemas of a registry do."""
    for name, kind in columns:
        if name not in KAFKA_COLUMNS and not _is_compared(kind):
            raise NotProven(f"the column {name} of type {spark_name(kind)}")


def _is_compared(kind: ColumnType) -> bool:
    match kind:
        case Struct(fields):
            return all(_is_compared(each) for _, each in fields)
        case Array(element):
            return _is_compared(element)
        case _:
            return isinstance(kind, Decimal) or kind in _COMPARED


def narrowed(offsets: TopicOffsets, topic: str, bounds: Mapping[int, Bounds], part: Part) -> dict[int, Bounds]:
    left = {each: bound for each, bound in bounds.items() if part.partition is None or each == part.partition}
    if part.oldest_ms is not None and left:
        left = offsets.since(topic, left, part.oldest_ms)
    found = {}
    for each, bound in left.items():
        start = bound.start if part.first is None else max(bound.start, part.first)
        end = bound.end if part.end is None else min(bound.end, part.end)
        found[each] = Bounds(start, max(start, end))
    return found


def _check_records(ranges: Mapping[str, Mapping[int, Bounds]], records_max: int | None, limits: Limits) -> None:
    records = sum(bound.end - bound.start for each in ranges.values() for bound in each.values())
    needed = records if records_max is None else min(records, records_max)
    if needed > limits.records:
        raise NotProven(f"it needs {needed:,} records, and the limit is {limits.records:,}")


class _Filling:
    """Fills the engine's tables, and counts."""

    def __init__(self, engine: Engine, offsets: TopicOffsets, limits: Limits, records_max: int | None) -> None:
        self._engine = engine
        self._offsets = offsets
        self._limits = limits
        self._records_max = records_max
        self._bytes = 0
        self.records = 0

    def fill(self, topic: str, use: TopicUse, shape: TableShape, bounds: Mapping[int, Bounds]) -> None:
        columns = [shape.columns[index] for index in use.used]
        self._engine.create(use.table, [kind for _, kind in columns])
        converter = RecordColumns(shape, [name for name, _ in columns])
        if self._records_max == 0:
            return
        for messages in self._offsets.records(topic, bounds):
            wanted = messages if self._records_max is None else messages[: self._records_max - self.records]
            self._count(wanted)
            self._engine.insert(use.table, converter.batch(wanted))
            if self.records == self._records_max:
                return

    def _count(self, messages: list[Any]) -> None:
        self.records += len(messages)
        self._bytes += sum(len(each) for each in messages)
        if self._bytes > self._limits.bytes:
            raise NotProven(f"it needs more than {self._limits.bytes // 2**20} MiB of records")


def _closing(engine: Engine, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    with engine:
        yield from rows
