"""Values of JSON as Spark's ``from_json`` converts them to the type of a column.

A value of another type is null, and the other fields of its record stay. Cases in which Spark's
parser is more lenient than Python's, or in which its result was not compared, raise
:class:`NotProven`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any, NamedTuple

from barnabas.pipelines.column_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Struct,
)
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.moments import SECONDS_MAX, SECONDS_MIN, may_be_moment, micros_of

Converter = Callable[[Any], Any]

# Spark takes these texts for numbers.
_SPECIAL = {
    "NaN": math.nan,
    "INF": math.inf,
    "+INF": math.inf,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "-INF": -math.inf,
    "-Infinity": -math.inf,
}


class OtherType(Exception):
    """The value does not have the column's type."""


class NumberText(NamedTuple):
    """A number and its text in the record, which a column of strings shows."""

    text: str
    number: int | float


class TextNeeded(Exception):
    """A column of strings has a number: parse the record again, with :func:`parse_with_texts`."""


def parse(value: bytes) -> Any:
    """The object, or None where Spark has null in all columns."""
    return _loads(value, _PLAIN)


def parse_with_texts(value: bytes) -> Any:
    return _loads(value, _WITH_TEXTS)


_PLAIN = json.JSONDecoder()
_WITH_TEXTS = json.JSONDecoder(
    parse_int=lambda text: NumberText(text, int(text)),
    parse_float=lambda text: NumberText(text, float(text)),
)


def _loads(value: bytes, decoder: json.JSONDecoder) -> Any:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise NotProven("a record of a JSON topic is not UTF-8") from error
    try:
        found = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        start = text.lstrip(" \t\r\n")[:1]
        if start == "" or (start.isascii() and start not in "{["):
            return None
        # Spark accepts single quotes and text after the object, among others.
        raise NotProven("a record of a JSON topic is not valid JSON") from error
    if isinstance(found, list):
        raise NotProven("a record of a JSON topic is an array")
    return found if isinstance(found, dict) else None


def converter(kind: ColumnType) -> Converter:
    """Takes a value from :func:`parse`. Raises ``OtherType`` where Spark has null."""
    match kind:
        case Struct(fields):
            return _struct([(name, converter(each)) for name, each in fields])
        case Array(element):
            return _array(converter(element))
        case Decimal(precision, scale):
            return _decimal(precision - scale)
        case _:
            return _SCALARS[kind.name]  # type: ignore[union-attr]


def _bigint(value: Any) -> int | None:
    if type(value) is int:
        if -(2**63) <= value < 2**63:
            return value
        raise OtherType
    if value is None:
        return None
    if type(value) is NumberText:
        return _bigint(value.number)
    raise OtherType


def _double(value: Any) -> float | None:
    if type(value) is float:
        return value
    if value is None:
        return None
    if type(value) is int:
        # float() refuses integers beyond its range; Java rounds them to infinity.
        return float(value) if abs(value) < 10**300 else float(str(value))
    if type(value) is NumberText:
        return _double(value.number)
    if type(value) is str and value in _SPECIAL:
        return _SPECIAL[value]
    raise OtherType


def _boolean(value: Any) -> bool | None:
    if value is None or type(value) is bool:
        return value
    raise OtherType


def _string(value: Any) -> str | None:
    if type(value) is str or value is None:
        return value
    if type(value) is NumberText and type(value.number) is int:
        return value.text
    if type(value) is NumberText:
        # Spark has Java's notation of the number, not the record's.
        raise NotProven("a column of strings has fractions")
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise NotProven("a column of strings has objects or arrays")
    raise TextNeeded


def _timestamp(value: Any) -> int | None:
    """Microseconds since 1970. An integer is in seconds."""
    if type(value) is str:
        micros = micros_of(value)
        if micros is None and may_be_moment(value):
            raise NotProven(f"a timestamp is written as {value[:40]!r}")
        if micros is None:
            raise OtherType
        return micros
    if value is None:
        return None
    if type(value) is NumberText:
        return _timestamp(value.number)
    if type(value) is int:
        if not SECONDS_MIN <= value <= SECONDS_MAX:
            raise NotProven("a timestamp is an integer that is out of range")
        return value * 1_000_000
    raise OtherType


def _decimal(digits_max: int) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is NumberText:
            return convert(value.number)
        if type(value) is int and len(str(abs(value))) <= digits_max:
            return Number(value)
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            raise NotProven("a decimal does not fit its column")
        raise OtherType

    return convert


def _struct(fields: list[tuple[str, Converter]]) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dict:
            raise OtherType
        return {name: field_value(value, name, each) for name, each in fields}

    return convert


def field_value(record: dict[str, Any], name: str, convert: Converter) -> Any:
    try:
        return convert(record.get(name))
    except OtherType:
        return None


def _array(convert_element: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not list:
            raise OtherType
        try:
            return [convert_element(each) for each in value]
        except OtherType as error:
            raise NotProven("an array has elements of another type") from error

    return convert


_SCALARS: dict[str, Converter] = {
    BIGINT.name: _bigint,
    DOUBLE.name: _double,
    BOOLEAN.name: _boolean,
    STRING.name: _string,
    TIMESTAMP.name: _timestamp,
}
