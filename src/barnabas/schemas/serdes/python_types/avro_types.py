"""The Avro schema of a type.

===========================  ======================================================================
Python                       Avro
===========================  ======================================================================
``int``, ``float``           ``long``, ``double``
``str``, ``bytes``, ``bool``  ``string``, ``bytes``, ``boolean``
``datetime``                 ``timestamp-micros``
``date``, ``time``           ``date``, ``time-micros``
``UUID``                     ``string`` with ``uuid``
``Decimal``                  ``decimal`` of 38 digits, 18 after the point; ``Digits`` says others
``Enum``                     ``enum`` of the names
``X | None``                 a union; the branch of the default stands first
``list``, ``dict``           ``array``, ``map``
a dataclass, a model         ``record``
===========================  ======================================================================
"""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.logical_types import logical_type_of
from barnabas.schemas.avro.model import Fixed, Primitive
from barnabas.schemas.avro.parsing import parse
from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.serdes.python_types.shapes import (
    NO_DEFAULT,
    Anything,
    AvroType,
    Choice,
    Digits,
    Enumeration,
    Items,
    Record,
    RecordField,
    Scalar,
    Shape,
    Values,
)
from barnabas.schemas.serdes.python_types.to_values import Form, to_values

# As Spark has it, so that any amount of money fits.
DEFAULT_DIGITS: Final = Digits(38, 18)
_TYPES: Final[dict[type, Any]] = {
    str: "string",
    int: "long",
    float: "double",
    bool: "boolean",
    bytes: "bytes",
    type(None): "null",
    datetime: {"type": "long", "logicalType": "timestamp-micros"},
    date: {"type": "int", "logicalType": "date"},
    time: {"type": "long", "logicalType": "time-micros"},
    UUID: {"type": "string", "logicalType": "uuid"},
}


def avro_schema_of(shape: Shape, namespace: str | None = None) -> str:
    """The text of the schema. Raises :class:`InvalidSchema`."""
    text = json.dumps(_Writer(namespace).schema(shape))
    AvroSchema.parse(text)
    return text


class _Writer:
    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace
        self._defined: dict[str, type] = {}

    def schema(self, shape: Shape, default: Any = NO_DEFAULT) -> Any:
        """``default`` is a value that the type must be able to have as its default."""
        match shape:
            case Scalar():
                return _scalar(shape)
            case Enumeration(type=type_):
                return self._named(type_, lambda: {"type": "enum", "symbols": list(type_.__members__)})
            case Items(item=item):
                return {"type": "array", "items": self.schema(item)}
            case Values(value=value):
                return {"type": "map", "values": self.schema(value)}
            case Choice(branches=branches):
                return self._union(branches, default)
            case Record(type=type_):
                return self._named(type_, lambda: {"type": "record", "fields": [self._field(each) for each in shape.fields]})
            case Anything():
                raise InvalidSchema("Avro has no type for any value; name the types of all fields.")

    def _named(self, type_: type, define: Any) -> Any:
        name = type_.__name__
        known = self._defined.get(name)
        if known is type_:
            return name
        if known is not None:
            raise InvalidSchema(f"Two types have the name {name}, and Avro knows types by their names.")
        self._defined[name] = type_
        namespace = {"namespace": self._namespace} if self._namespace and len(self._defined) == 1 else {}
        definition = define()
        return {"type": definition.pop("type"), "name": name, **namespace, **definition}

    def _union(self, branches: tuple[Shape, ...], default: Any) -> Any:
        # Null first is the custom; but a default must be one of the first branch.
        ordered = sorted(branches, key=lambda branch: not _is_null(branch))
        if default is not NO_DEFAULT and default is not None:
            ordered = [*(each for each in ordered if _is_of(default, each)), *(each for each in ordered if not _is_of(default, each))]
        return [self.schema(each) for each in ordered]

    def _field(self, field: RecordField) -> dict[str, Any]:
        schema: dict[str, Any] = {"name": field.name, "type": self.schema(field.shape, field.default)}
        if field.default is not NO_DEFAULT:
            schema["default"] = _default(field)
        elif not field.is_required and isinstance(field.shape, Choice) and any(map(_is_null, field.shape.branches)):
            schema["default"] = None
        return schema


def _scalar(shape: Scalar) -> Any:
    given = next((mark.schema for mark in shape.marks if isinstance(mark, AvroType)), None)
    if given is not None:
        return given
    if shape.type is Decimal:
        digits = next((mark for mark in shape.marks if isinstance(mark, Digits)), DEFAULT_DIGITS)
        return {"type": "bytes", "logicalType": "decimal", "precision": digits.precision, "scale": digits.scale}
    found = _TYPES.get(shape.type)
    if found is None:
        raise InvalidSchema(f"Avro has no type for {shape.type.__name__}; name one with Annotated[..., AvroType(...)].")
    return found


def _is_null(shape: Shape) -> bool:
    return isinstance(shape, Scalar) and shape.type is type(None)


def _is_of(value: Any, shape: Shape) -> bool:
    match shape:
        case Scalar(type=type_) | Enumeration(type=type_) | Record(type=type_):
            return type(value) is type_
        case Items():
            return isinstance(value, list | tuple | set | frozenset)
        case Values():
            return isinstance(value, dict)
        case Choice(branches=branches):
            return any(_is_of(value, branch) for branch in branches)
    return True


def _default(field: RecordField) -> Any:
    """The default as JSON: bytes as text, logical types as their data."""
    return _as_json(to_values(field.shape, Form.AVRO)(field.default), field.shape)


def _as_json(value: Any, shape: Shape) -> Any:
    match shape:
        case Scalar() if value is not None:
            type_, _ = parse(json.dumps(_scalar(shape)))
            meant = logical_type_of(type_) if isinstance(type_, Primitive | Fixed) else None
            data = meant.data_of(value) if meant is not None else value
            return data.decode("latin-1") if isinstance(data, bytes) else data
        case Items(item=item):
            return [_as_json(each, item) for each in value]
        case Values(value=inner):
            return {key: _as_json(each, inner) for key, each in value.items()}
        case Choice(branches=branches) if value is not None:
            if isinstance(value, tuple):
                value = value[1]
            fitting = next((branch for branch in branches if not _is_null(branch) and _fits(value, branch)), branches[0])
            return _as_json(value, fitting)
        case Record(fields=fields):
            return {each.name: _as_json(value[each.name], each.shape) for each in fields}
    return value


def _fits(value: Any, shape: Shape) -> bool:
    match shape:
        case Record():
            return isinstance(value, dict) and {each.name for each in shape.fields} == set(value)
        case Enumeration():
            return isinstance(value, str)
    return _is_of(value, shape)
