"""Finds the columns of a topic from a sample of its records.

Both engines get the same columns, because neither infers them. The rules are those of Spark's
reader of JSON, except for texts: only dates and times in ISO 8601 become timestamps, while Spark
also takes ``"1001"`` for a year.

    null                        the type of the other records, or string
    integers                    bigint; decimal where 64 bits do not suffice
    integers and fractions      double
    objects                     struct of the fields of all of them, by name
    arrays                      array of the common type of all elements
    any other mixture           string: the text of the JSON
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any

from barnabas.pipelines.column_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)
from barnabas.pipelines.registered.plans import DecodingPlan
from barnabas.pipelines.sql.moments import micros_of
from barnabas.pipelines.sql.topic_offsets import SampleRecord

# Topics of JSON may have some records that are not; when most are not, it is not a topic of JSON.
_JSON_SHARE_MIN = 0.5
# Digits of the largest bigint.
_BIGINT_DIGITS = 19
KAFKA_COLUMNS = ("_key", "_partition", "_offset", "_timestamp", "_headers")


class ValueKind(StrEnum):
    JSON = "json"
    TEXT = "text"
    BYTES = "bytes"
    REGISTERED = "registered"  # framed, with a schema of a registry


@dataclass(frozen=True, slots=True)
class TableShape:
    values: ValueKind
    key_is_text: bool
    fields: Struct | None = None  # of JSON, or of the schema
    is_empty: bool = False  # there are no records to infer from
    plan: DecodingPlan | None = None  # of registered values

    @property
    def columns(self) -> tuple[tuple[str, ColumnType], ...]:
        """Names and types, Kafka's columns first."""
        kinds: tuple[ColumnType, ...] = (STRING if self.key_is_text else BINARY, INT, BIGINT, TIMESTAMP, Map())
        about = tuple(zip(KAFKA_COLUMNS, kinds, strict=True))
        if self.fields is not None:
            return about + self.fields.fields
        return (*about, ("value", BINARY if self.values is ValueKind.BYTES else STRING))


def infer(sample: Sequence[SampleRecord]) -> TableShape:
    key_is_text = _all_text(each.key for each in sample)
    values = [each.value for each in sample if each.value is not None]
    objects = [found for each in values if (found := _json_object(each)) is not None]
    if objects and len(objects) >= _JSON_SHARE_MIN * len(values) and (fields := _columns(objects)).fields:
        return TableShape(ValueKind.JSON, key_is_text, fields)
    return TableShape(ValueKind.TEXT if _all_text(values) else ValueKind.BYTES, key_is_text, is_empty=not values)


def _json_object(value: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(value.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _all_text(values: Iterable[bytes | None]) -> bool:
    try:
        return all("\0" not in each.decode() for each in values if each is not None)
    except UnicodeDecodeError:
        return False


def _columns(objects: list[dict[str, Any]]) -> Struct:
    """Fields with the names of our own columns cannot be reached: two columns of one name are an
    error in every query."""
    merged = reduce(_merged, (_type_of(each) for each in objects))
    final = _final(merged)
    fields = final.fields if isinstance(final, Struct) else ()
    return Struct(tuple((name, kind) for name, kind in fields if name.lower() not in KAFKA_COLUMNS))


def _type_of(value: Any) -> ColumnType:
    match value:
        case None:
            return VOID
        case bool():
            return BOOLEAN
        case int():
            return _integer(value)
        case float():
            return DOUBLE
        case str():
            return STRING if micros_of(value) is None else TIMESTAMP
        case list():
            nothing: ColumnType = VOID
            return Array(reduce(_merged, (_type_of(each) for each in value), nothing))
        case _:
            return Struct(tuple((name, _type_of(each)) for name, each in value.items()))


def _integer(value: int) -> ColumnType:
    if -(2**63) <= value < 2**63:
        return BIGINT
    digits = len(str(abs(value)))
    return Decimal(digits, 0) if digits <= DECIMAL_PRECISION_MAX else DOUBLE


def _merged(first: ColumnType, second: ColumnType) -> ColumnType:
    if first == second or second == VOID:
        return first
    if first == VOID:
        return second
    match first, second:
        case Struct(), Struct():
            kinds = dict(first.fields)
            for name, kind in second.fields:
                kinds[name] = _merged(kinds[name], kind) if name in kinds else kind
            return Struct(tuple(kinds.items()))
        case Array(), Array():
            return Array(_merged(first.element, second.element))
        case (Decimal(), Decimal()) | (Decimal(), _) | (_, Decimal()) if {first, second} <= _numbers(first, second):
            return DOUBLE if DOUBLE in (first, second) else Decimal(max(_digits(first), _digits(second)), 0)
        case _ if {first, second} == {BIGINT, DOUBLE}:
            return DOUBLE
        case _:
            return STRING


def _numbers(*kinds: ColumnType) -> set[ColumnType]:
    return {BIGINT, DOUBLE, *(each for each in kinds if isinstance(each, Decimal))}


def _digits(kind: ColumnType) -> int:
    return kind.precision if isinstance(kind, Decimal) else _BIGINT_DIGITS


def _final(kind: ColumnType) -> ColumnType | None:
    """Without the fields of which no type is known. Names that differ in case alone are one column,
    because Spark's names have no case."""
    match kind:
        case Struct(fields):
            kept: dict[str, tuple[str, ColumnType]] = {}
            for name, each in sorted(fields):
                final = _final(each)
                if name and final is not None:
                    kept.setdefault(name.lower(), (name, final))
            return Struct(tuple(kept.values())) if kept else None
        case Array(element):
            final = _final(element)
            return None if final is None else Array(final)
        case _:
            return STRING if kind == VOID else kind
