"""A compiled expression, and the common types of several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from barnabas.pipelines.column_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    ColumnType,
    Decimal,
    duckdb_name,
    spark_name,
)
from barnabas.pipelines.sql.embedded.not_proven import LEAVE_TO_SPARK, QUERY_FAILS, NotProven
from barnabas.pipelines.sql.moments import micros_of

INTEGERS = (INT, BIGINT)
ORDERED = (*INTEGERS, DOUBLE, STRING, TIMESTAMP, DATE, BOOLEAN)


@dataclass(frozen=True, slots=True)
class Value:
    """``name`` is the one that Spark gives to a column of this expression; None if that name is not
    known for certain. ``literal`` is the value of a constant: microseconds for timestamps."""

    sql: str
    type: ColumnType
    name: str | None = None
    literal: Any = None
    column: tuple[str, str] | None = None  # the source and the column that it is, if it is just one
    alias: str | None = None  # the name of a column that is just this, where it differs

    @property
    def column_name(self) -> str | None:
        return self.alias or self.name


def text_literal(text: str) -> str:
    if "\0" in text:
        raise NotProven("a text with a zero byte")
    return "'" + text.replace("'", "''") + "'"


def timestamp_literal(micros: int, name: str | None = None) -> Value:
    return Value(f"make_timestamp({micros}::BIGINT)", TIMESTAMP, name, micros)


def leave_to_spark(reason: str) -> str:
    """SQL that ends the embedded run while it evaluates a row."""
    return f"error({text_literal(LEAVE_TO_SPARK + reason)})"


def fail(sentence: str) -> str:
    """SQL for a row in which the query is wrong, in both engines."""
    return f"error({text_literal(QUERY_FAILS + sentence)})"


def is_number(kind: ColumnType) -> bool:
    return kind in (*INTEGERS, DOUBLE) or isinstance(kind, Decimal)


def cast(value: Value, kind: ColumnType) -> Value:
    """A conversion without loss, which Spark does unasked. The name stays."""
    if value.type == kind:
        return value
    return replace(value, sql=f"CAST({value.sql} AS {duckdb_name(kind)})", type=kind, column=None, alias=None)


def common(*values: Value) -> tuple[Value, ...]:
    """All with the type to which Spark would convert them."""
    kinds = {each.type for each in values} - {VOID}
    if len(kinds) == 1:
        (kind,) = kinds
    elif kinds and all(is_number(each) for each in kinds):
        kind = _common_number(values)
    elif kinds == {TIMESTAMP, STRING}:
        return tuple(_as_timestamp(each) for each in values)
    elif kinds == {TIMESTAMP, DATE}:
        kind = TIMESTAMP
    elif not kinds:
        kind = VOID
    else:
        raise NotProven(f"values of the types {' and '.join(sorted(spark_name(each) for each in kinds))} together")
    return tuple(cast(each, kind) for each in values)


def decimal_of(value: Value) -> Decimal:
    """The type to which Spark converts an integer beside a decimal."""
    if isinstance(value.type, Decimal):
        return value.type
    if value.literal is not None:
        return Decimal(max(len(str(abs(value.literal))), 1), 0)
    return Decimal(10 if value.type == INT else 20, 0)


def _common_number(values: tuple[Value, ...]) -> ColumnType:
    kinds = {each.type for each in values} - {VOID}
    if DOUBLE in kinds:
        return DOUBLE
    if kinds <= set(INTEGERS):
        return BIGINT
    decimals = [decimal_of(each) for each in values if each.type != VOID]
    scale = max(each.scale for each in decimals)
    precision = max(each.precision - each.scale for each in decimals) + scale
    if precision > DECIMAL_PRECISION_MAX:
        raise NotProven("decimals of too many digits")
    return Decimal(precision, scale)


def _as_timestamp(value: Value) -> Value:
    if value.type != STRING:
        return value
    micros = micros_of(value.literal) if isinstance(value.literal, str) else None
    if micros is None:
        raise NotProven("texts beside timestamps, other than constants in ISO 8601")
    return timestamp_literal(micros, value.name)
