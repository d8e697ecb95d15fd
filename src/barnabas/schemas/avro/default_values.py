"""The value of a default, which a schema writes in JSON."""

from __future__ import annotations

from typing import Any

from barnabas.schemas.avro.defaults import why_no_default
from barnabas.schemas.avro.logical_types import logical_type_of
from barnabas.schemas.avro.model import Array, AvroType, Fixed, Map, Primitive, Record, Union


def value_of_default(type_: AvroType, default: Any, *, logical_types: bool) -> object:
    """The default of a union is of the first branch that it fits."""
    match type_:
        case Union(branches=branches):
            fitting = next((branch for branch in branches if why_no_default(branch, default) is None), branches[0])
            return value_of_default(fitting, default, logical_types=logical_types)
        case Record(fields=fields):
            return {
                field.name: value_of_default(field.type, default.get(field.name, field.default), logical_types=logical_types)
                for field in fields
            }
        case Array(items=items):
            return [value_of_default(items, each, logical_types=logical_types) for each in default]
        case Map(values=values):
            return {key: value_of_default(values, each, logical_types=logical_types) for key, each in default.items()}
        case Primitive(kind="bytes") | Fixed():
            value: object = default.encode("latin-1")
        case Primitive(kind="float" | "double"):
            value = float(default)
        case _:
            value = default
    meant = logical_type_of(type_) if logical_types else None
    if meant is None:
        return value
    try:
        return meant.value_of(value)
    except (ValueError, OverflowError):
        # A default that is valid data but no value of the logical type: the data is all there is.
        return value
