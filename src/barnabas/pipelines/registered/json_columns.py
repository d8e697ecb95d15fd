"""JSON Schemas as columns, and the values of a JSON codec as values of those columns.

=====================================  =============================================================
JSON Schema                            column
=====================================  =============================================================
``integer``, ``number``, ``boolean``   bigint, double, boolean
``string``                             string; the format ``date-time``: timestamp, ``date``: date,
                                       ``decimal(10,2)``: decimal, which our sinks write
an object with properties              struct; several in ``allOf`` are one
an object with other properties only   map of string and their type
an array of one type                   array
a choice between null and a type       the type: every column may be null
any other choice; anything; a schema   string: a text as it is, any other value as JSON
that contains itself
=====================================  =============================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as Number, InvalidOperation
from typing import Any, Final

from barnabas.pipelines.column_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)
from barnabas.pipelines.registered.converting import Converter, array_of, as_json, map_of, struct_of
from barnabas.schemas.json_schema import model as json_schema
from barnabas.schemas.json_schema.model import Node

_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
_SCALARS: Final = {bool: BOOLEAN, int: BIGINT, float: DOUBLE, str: STRING}
# They narrow a type that stands beside them in an ``allOf``, and have none of their own.
_NARROWING: Final = (
    json_schema.Enumeration,
    json_schema.Constant,
    json_schema.Negation,
    json_schema.Conditional,
    json_schema.Anything,
)


def columns_of(root: Node) -> Struct:
    """A schema of anything but objects with properties has the one column ``value``."""
    kind = _column(root, ())
    return kind if isinstance(kind, Struct) else Struct((("value", kind),))


def converter_of(root: Node) -> Converter:
    """From a value of the codec to a dict of :func:`columns_of`."""
    convert = _converter(root, ())
    if isinstance(_column(root, ()), Struct):
        return convert or (lambda value: value)
    return lambda value: {"value": value if convert is None or value is None else convert(value)}


def _column(node: Node, around: tuple[Node, ...]) -> ColumnType:
    if any(each is node for each in around):
        return STRING
    inside = (*around, node)
    match node:
        case json_schema.Text():
            return _text(node)
        case json_schema.Number():
            return BIGINT if node.integer else DOUBLE
        case json_schema.Boolean():
            return BOOLEAN
        case json_schema.Enumeration():
            return _of_values([each for each in node.values if each is not None])
        case json_schema.Constant():
            return _of_values([node.value])
        case json_schema.Object():
            if node.properties:
                return Struct(tuple((name, _column(each, inside)) for name, each in node.properties.items()))
            return Map(STRING, _column(node.more, inside)) if node.more is not None else STRING
        case json_schema.Array():
            return Array(_column(node.every_item, inside)) if node.every_item is not None else STRING
        case json_schema.Combination():
            return _combined(node, inside)
        case _:
            return STRING


def _text(node: json_schema.Text) -> ColumnType:
    format_ = node.annotations.format or ""
    if format_ == "date-time":
        return TIMESTAMP
    if format_ == "date":
        return DATE
    match = _DECIMAL.fullmatch(format_)
    if match is not None and 0 < int(match[1]) <= DECIMAL_PRECISION_MAX and int(match[2]) <= int(match[1]):
        return Decimal(int(match[1]), int(match[2]))
    return STRING


def _of_values(values: list[Any]) -> ColumnType:
    kinds = {type(each) for each in values}
    return _SCALARS.get(kinds.pop(), STRING) if len(kinds) == 1 else STRING


def _combined(node: json_schema.Combination, around: tuple[Node, ...]) -> ColumnType:
    if node.criterion == "allOf":
        objects = [each for each in (_column(part, around) for part in node.parts) if isinstance(each, Struct)]
        if objects:
            return Struct(tuple({name: kind for each in objects for name, kind in each.fields}.items()))
    kinds = {_column(each, around) for each in _parts(node)}
    if len(kinds) == 1:
        return kinds.pop()
    return DOUBLE if kinds == {BIGINT, DOUBLE} else STRING


def _parts(node: json_schema.Combination) -> Sequence[Node]:
    """The parts that decide the type."""
    parts = [each for each in node.parts if not isinstance(each, json_schema.Null)]
    if node.criterion == "allOf":
        return [each for each in parts if not isinstance(each, _NARROWING)] or parts
    return parts


# -- values ----------------------------------------------------------------------------------------


def _converter(node: Node, around: tuple[Node, ...]) -> Converter | None:
    if any(each is node for each in around):
        return _text_or_json
    inside = (*around, node)
    match node:
        case json_schema.Text():
            return _TEXTS.get(type(_text(node)), None) or _SCALAR_TEXTS.get(_text(node))
        case json_schema.Number() | json_schema.Boolean():
            return None
        case json_schema.Enumeration() | json_schema.Constant():
            return _text_or_json if _column(node, around) == STRING else None
        case json_schema.Object() if node.properties:
            return struct_of({name: _converter(each, inside) for name, each in node.properties.items()})
        case json_schema.Object() if node.more is not None:
            return map_of(_converter(node.more, inside))
        case json_schema.Array() if node.every_item is not None:
            return array_of(_converter(node.every_item, inside))
        case json_schema.Combination():
            return _combined_converter(node, around)
        case _:
            return _text_or_json


def _combined_converter(node: json_schema.Combination, around: tuple[Node, ...]) -> Converter | None:
    inside = (*around, node)
    kind = _column(node, around)
    if kind == STRING:
        return _text_or_json
    ways = [way for each in _parts(node) if (way := _converter(each, inside)) is not None]
    if not ways:
        return None

    def convert(value: Any) -> Any:
        for way in ways:
            value = way(value)
        return value

    # The objects of an allOf each have fields of their own; otherwise all parts are of one type,
    # and one of them converts.
    return convert if node.criterion == "allOf" else ways[0]


def _text_or_json(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _moment(value: Any) -> Any:
    found = datetime.fromisoformat(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _number(value: Any) -> Any:
    try:
        return Number(value)
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is no number") from error


_TEXTS: Final[dict[type, Callable[[Any], Any]]] = {Decimal: _number}
_SCALAR_TEXTS: Final[dict[ColumnType, Callable[[Any], Any]]] = {TIMESTAMP: _moment, DATE: lambda value: date.fromisoformat(value)}
