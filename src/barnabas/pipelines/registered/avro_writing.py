"""Rows of Arrow as values of an Avro codec: the way back of :mod:`.avro_columns`."""

from __future__ import annotations

import json
from typing import Any

from barnabas.pipelines.column_types import STRING, Struct
from barnabas.pipelines.registered.avro_columns import branches_of, column_of, recursive
from barnabas.pipelines.registered.converting import Converter, array_of, dict_of, struct_of
from barnabas.schemas.avro import model as avro


def converter_of(root: avro.AvroType) -> Converter | None:
    inner = _converter(root, ())
    if isinstance(root, avro.Record) and root.fields:
        return inner
    return (lambda row: row["value"]) if inner is None else (lambda row: None if row["value"] is None else inner(row["value"]))


def _converter(kind: avro.AvroType, around: tuple[avro.AvroType, ...]) -> Converter | None:
    match kind:
        case avro.Primitive() | avro.Fixed():
            # A decimal that no column of Spark can hold is text.
            too_long = kind.properties.get("logicalType") == "decimal" and column_of(kind) == STRING
            return _decimal if too_long else None
        case avro.Enumeration():
            return None
        case avro.Array():
            return array_of(_converter(kind.items, around))
        case avro.Map():
            return dict_of(_converter(kind.values, around))
        case avro.Record():
            if recursive(kind, around) or not kind.fields:
                return json.loads
            return struct_of({field.name: _converter(field.type, (*around, kind)) for field in kind.fields})
        case avro.Union():
            return _union(kind, around)


def _union(union: avro.Union, around: tuple[avro.AvroType, ...]) -> Converter | None:
    branches = branches_of(union)
    if len(branches) <= 1:
        return _converter(branches[0], around) if branches else None
    if not isinstance(column_of(union, around), Struct):
        return None
    ways = {f"member{place}": (_name(each), _converter(each, around)) for place, each in enumerate(branches)}

    def convert(row: dict[str, Any]) -> Any:
        for member, value in row.items():
            if value is not None:
                name, way = ways[member]
                return name, (value if way is None else way(value))
        return None

    return convert


def _name(kind: avro.AvroType) -> str:
    """The codec takes a pair of a branch's name and the value."""
    return kind.name.full if isinstance(kind, avro.Record | avro.Enumeration | avro.Fixed) else kind.kind


def _decimal(value: str) -> Any:
    from decimal import Decimal

    return Decimal(value)
