"""Avro types as columns, and the values of an Avro codec as values of those columns.

================================  ==================================================================
Avro                              column
================================  ==================================================================
``int``, ``long``                 int, bigint; ``date``: date; ``timestamp-*``: timestamp;
                                  ``local-timestamp-*``: timestamp_ntz; ``time-millis`` and
                                  ``time-micros``: the number itself
``bytes``, ``fixed``              binary; ``decimal``: decimal of its precision and scale
``string``, ``enum``              string, also with ``uuid``
``record``, ``map``, ``array``    struct, map, array
union with null                   the other branch: every column may be null
other unions                      int and long: bigint; numbers with a fraction: double; otherwise a
                                  struct with a field for each branch: ``member0``, ``member1``, as
                                  spark-avro has it
a record that contains itself     string: the JSON of the value
================================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from typing import Any, Final

from barnabas.pipelines.column_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)
from barnabas.pipelines.registered.converting import Converter, array_of, as_json, map_of, struct_of
from barnabas.schemas.avro import model as avro

_PRIMITIVES: Final = {
    "null": STRING,
    "boolean": BOOLEAN,
    "int": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": BINARY,
    "string": STRING,
}
_LOGICAL: Final = {
    ("int", "date"): DATE,
    ("long", "timestamp-millis"): TIMESTAMP,
    ("long", "timestamp-micros"): TIMESTAMP,
    ("long", "local-timestamp-millis"): TIMESTAMP_NTZ,
    ("long", "local-timestamp-micros"): TIMESTAMP_NTZ,
}
_TIMES: Final = {("int", "time-millis"): 1000, ("long", "time-micros"): 1}  # microseconds in a unit
_WHOLE: Final = frozenset({"int", "long"})
_FRACTIONS: Final = frozenset({"int", "long", "float", "double"})


def columns_of(root: avro.AvroType) -> Struct:
    """A schema that is no record has the one column ``value``."""
    kind = column_of(root)
    return kind if isinstance(kind, Struct) and isinstance(root, avro.Record) else Struct((("value", kind),))


def column_of(kind: avro.AvroType, around: tuple[avro.AvroType, ...] = ()) -> ColumnType:
    """``around``: the records that the type is inside of."""
    match kind:
        case avro.Primitive() | avro.Fixed():
            return _scalar(kind)
        case avro.Enumeration():
            return STRING
        case avro.Array():
            return Array(column_of(kind.items, around))
        case avro.Map():
            return Map(STRING, column_of(kind.values, around))
        case avro.Record():
            if recursive(kind, around):
                return STRING
            return Struct(tuple((field.name, column_of(field.type, (*around, kind))) for field in kind.fields)) if kind.fields else STRING
        case avro.Union():
            branches = branches_of(kind)
            if len(branches) <= 1:
                return column_of(branches[0], around) if branches else STRING
            if (number := _number(branches)) is not None:
                return number
            return Struct(tuple((f"member{place}", column_of(each, around)) for place, each in enumerate(branches)))


def branches_of(union: avro.Union) -> list[avro.AvroType]:
    return [each for each in union.branches if not (isinstance(each, avro.Primitive) and each.kind == "null")]


def recursive(kind: avro.Record, around: tuple[avro.AvroType, ...]) -> bool:
    return any(each is kind for each in around)


def _number(branches: list[avro.AvroType]) -> ColumnType | None:
    """The column of a union of numbers of several sizes."""
    kinds = {each.kind for each in branches if isinstance(each, avro.Primitive) and "logicalType" not in each.properties}
    if len(kinds) == len(branches):
        if kinds <= _WHOLE:
            return BIGINT
        if kinds <= _FRACTIONS:
            return DOUBLE
    return None


def _scalar(kind: avro.Primitive | avro.Fixed) -> ColumnType:
    properties: Mapping[str, Any] = kind.properties
    logical = properties.get("logicalType")
    if logical == "decimal" and kind.kind in ("bytes", "fixed"):
        precision, scale = properties.get("precision"), properties.get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision:
            # Spark has no larger decimal; the text of the number keeps every digit.
            return Decimal(precision, scale) if precision <= DECIMAL_PRECISION_MAX else STRING
    if isinstance(kind, avro.Fixed):
        return BINARY
    return _LOGICAL.get((kind.kind, str(logical)), _PRIMITIVES[kind.kind])


# -- values ----------------------------------------------------------------------------------------


def converter_of(root: avro.AvroType) -> Converter | None:
    """From a value of the codec to a dict of :func:`columns_of`; None where the value is one
    already."""
    inner = _converter(root, ())
    if isinstance(root, avro.Record) and root.fields:
        return inner
    return (lambda value: {"value": value}) if inner is None else (lambda value: {"value": inner(value)})


def _converter(kind: avro.AvroType, around: tuple[avro.AvroType, ...]) -> Converter | None:
    match kind:
        case avro.Primitive() | avro.Fixed():
            return _scalar_converter(kind)
        case avro.Enumeration():
            return None
        case avro.Array():
            return array_of(_converter(kind.items, around))
        case avro.Map():
            return map_of(_converter(kind.values, around))
        case avro.Record():
            if recursive(kind, around) or not kind.fields:
                return as_json
            return struct_of({field.name: _converter(field.type, (*around, kind)) for field in kind.fields})
        case avro.Union():
            return _union_converter(branches_of(kind), around)


def _scalar_converter(kind: avro.Primitive | avro.Fixed) -> Converter | None:
    logical = str(kind.properties.get("logicalType"))
    if logical == "uuid" and kind.kind == "string":
        return str
    if logical == "uuid" and isinstance(kind, avro.Fixed):
        return lambda value: getattr(value, "bytes", value)
    if logical == "decimal" and _scalar(kind) == STRING:
        return str
    unit = _TIMES.get((kind.kind, logical))
    return None if unit is None else lambda value: _micros(value) // unit if isinstance(value, time) else value


def _micros(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _union_converter(branches: list[avro.AvroType], around: tuple[avro.AvroType, ...]) -> Converter | None:
    if len(branches) <= 1:
        return _converter(branches[0], around) if branches else None
    if _number(branches) is not None:
        return float if _number(branches) == DOUBLE else None
    # The codec names the records of a union that has several: pairs of a name and a value.
    named = sum(isinstance(each, avro.Record) for each in branches) > 1
    records = {
        each.name.full: (f"member{place}", _converter(each, around))
        for place, each in enumerate(branches)
        if named and isinstance(each, avro.Record)
    }
    ways = [
        (f"member{place}", _recogniser(each), _converter(each, around))
        for place, each in enumerate(branches)
        if not (named and isinstance(each, avro.Record))
    ]

    def convert(value: Any) -> Any:
        if isinstance(value, tuple):
            name, way = records[value[0]]
            return {name: value[1] if way is None else way(value[1])}
        for name, fits, way in ways:
            if fits(value):
                return {name: value if way is None else way(value)}
        raise ValueError(f"no branch of a union takes {value!r}")

    return convert


def _recogniser(kind: avro.AvroType) -> Any:
    """Whether a value of the codec is of this branch. A decoded record has all of its fields, which
    tells it from a map."""
    match kind:
        case avro.Record():
            names = {field.name for field in kind.fields}
            return lambda value: isinstance(value, dict) and value.keys() == names
        case avro.Map():
            return lambda value: isinstance(value, dict)
        case avro.Array():
            return lambda value: isinstance(value, list)
        case avro.Enumeration():
            symbols = frozenset(kind.symbols)
            return lambda value: isinstance(value, str) and value in symbols
        case avro.Fixed():
            return _fixed_recogniser(kind)
        case avro.Primitive():
            return _PYTHON.get((kind.kind, str(kind.properties.get("logicalType"))), _PYTHON.get((kind.kind, "")))
        case avro.Union():
            raise AssertionError("a union has no branch that is a union")


def _fixed_recogniser(kind: avro.Fixed) -> Any:
    match kind.properties.get("logicalType"):
        case "decimal":
            return _named("Decimal")
        case "uuid":
            return _named("UUID")
        case _:
            return lambda value: isinstance(value, bytes) and len(value) == kind.size


def _is(*kinds: type) -> Any:
    return lambda value: type(value) in kinds


def _named(name: str) -> Any:
    return lambda value: type(value).__name__ == name


_PYTHON: Final = {
    ("boolean", ""): _is(bool),
    ("int", ""): _is(int),
    ("long", ""): _is(int),
    ("float", ""): _is(float, int),
    ("double", ""): _is(float, int),
    ("bytes", ""): _is(bytes),
    ("string", ""): _is(str),
    ("string", "uuid"): _named("UUID"),
    ("bytes", "decimal"): _named("Decimal"),
    ("int", "date"): _named("date"),
    ("int", "time-millis"): _named("time"),
    ("long", "time-micros"): _named("time"),
    ("long", "timestamp-millis"): _named("datetime"),
    ("long", "timestamp-micros"): _named("datetime"),
    ("long", "local-timestamp-millis"): _named("datetime"),
    ("long", "local-timestamp-micros"): _named("datetime"),
}
