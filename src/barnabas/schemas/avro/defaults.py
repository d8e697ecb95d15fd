"""Whether a JSON value is a valid default of an Avro type."""

from __future__ import annotations

from typing import Any

from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Fixed, Map, Primitive, Record, Union

_INT = range(-(2**31), 2**31)
_LONG = range(-(2**63), 2**63)


def why_no_default(type_: AvroType, value: Any) -> str | None:
    """A clause with the reason, or None. The default of a union is one of its first branch in older
    versions of Avro; from 1.12 on, any branch will do, as with Java's parser.
    """
    return None if _fits(type_, value) else f"{value!r} is no {_described(type_)}"


def _fits(type_: AvroType, value: Any) -> bool:
    match type_:
        case Primitive(kind=kind):
            return _fits_primitive(kind, value)
        case Array(items=items):
            return isinstance(value, list) and all(_fits(items, each) for each in value)
        case Map(values=values):
            return isinstance(value, dict) and all(_fits(values, each) for each in value.values())
        case Union(branches=branches):
            return any(_fits(branch, value) for branch in branches)
        case Fixed(size=size):
            return _is_bytes(value) and len(value) == size
        case Enumeration(symbols=symbols):
            return value in symbols
        case Record(fields=fields):
            return isinstance(value, dict) and all(
                _fits(field.type, value[field.name]) if field.name in value else field.has_default for field in fields
            )


def _fits_primitive(kind: str, value: Any) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int":
            return _is_integer(value) and value in _INT
        case "long":
            return _is_integer(value) and value in _LONG
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bytes":
            return _is_bytes(value)
        case _:
            return isinstance(value, str)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_bytes(value: Any) -> bool:
    """Bytes stand in JSON as characters up to U+00FF."""
    return isinstance(value, str) and all(ord(character) < 256 for character in value)


def _described(type_: AvroType) -> str:
    match type_:
        case Fixed() | Enumeration() | Record():
            return f"{type_.kind} {type_.name.full}"
        case Union(branches=branches):
            return f"branch of the union {[_described(branch) for branch in branches]}"
        case _:
            return type_.kind
