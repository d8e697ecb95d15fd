"""Protobuf messages as columns, and the values of a Protobuf codec as values of those columns.

=====================================  =============================================================
Protobuf                               column
=====================================  =============================================================
``int32`` and its signed kin           int
``uint32``, ``int64`` and their kin    bigint
``uint64``, ``fixed64``                decimal(20,0)
``float``, ``double``, ``bool``        float, double, boolean
``string``, ``bytes``                  string, binary
an enum                                string: the name of the value
a message                              struct; ``google.protobuf.Timestamp``: timestamp,
                                       ``google.type.Date``: date, ``confluent.type.Decimal``:
                                       decimal(38,18), the wrappers of scalars: the scalar,
                                       ``Duration``: bigint, its microseconds, ``Struct`` and
                                       ``Value``: string, JSON
``repeated``, ``map``                  array, map
the fields of a ``oneof``              a column each, of which one at most is not null
a message that contains itself         string: the JSON of the value
=====================================  =============================================================
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal as Number
from typing import Any, Final

from barnabas.pipelines.column_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)
from barnabas.pipelines.registered.converting import Converter, array_of, as_json, map_of, struct_of
from barnabas.schemas.protobuf.model import EnumType, FieldType, MapOf, MessageField, MessageType, Named, ProtoFile, Scalar

_SCALARS: Final[dict[str, ColumnType]] = {
    "int32": INT,
    "sint32": INT,
    "sfixed32": INT,
    "uint32": BIGINT,
    "fixed32": BIGINT,
    "int64": BIGINT,
    "sint64": BIGINT,
    "sfixed64": BIGINT,
    "uint64": Decimal(20, 0),
    "fixed64": Decimal(20, 0),
    "float": FLOAT,
    "double": DOUBLE,
    "bool": BOOLEAN,
    "string": STRING,
    "bytes": BINARY,
}
# A message that notes its own scale needs a column that has room for most.
DECIMAL: Final = Decimal(38, 18)
MICROSECOND: Final = timedelta(microseconds=1)
_MEANT: Final[dict[str, ColumnType]] = {
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": BIGINT,
    "google.protobuf.Struct": STRING,
    "google.protobuf.Value": STRING,
    "google.protobuf.ListValue": STRING,
    "google.type.Date": DATE,
    "confluent.type.Decimal": DECIMAL,
    "google.protobuf.DoubleValue": DOUBLE,
    "google.protobuf.FloatValue": FLOAT,
    "google.protobuf.Int64Value": BIGINT,
    "google.protobuf.UInt64Value": Decimal(20, 0),
    "google.protobuf.Int32Value": INT,
    "google.protobuf.UInt32Value": BIGINT,
    "google.protobuf.BoolValue": BOOLEAN,
    "google.protobuf.StringValue": STRING,
    "google.protobuf.BytesValue": BINARY,
}


def scalar_column(name: str) -> ColumnType:
    return _SCALARS[name]


def message_of(file: ProtoFile, name: str | None) -> MessageType | None:
    """By its full name; the first of the file without one."""
    if name is None:
        return file.messages[0] if file.messages else None
    found = file.types.get(name)
    return found if isinstance(found, MessageType) else None


def columns_of(file: ProtoFile, message: MessageType) -> Struct:
    kind = _message(message, file, ())
    return kind if isinstance(kind, Struct) else Struct((("value", kind),))


def _message(message: MessageType, file: ProtoFile, around: tuple[MessageType, ...]) -> ColumnType:
    if any(each is message for each in around) or not message.fields:
        return STRING
    return Struct(tuple((each.name, _field(each, file, (*around, message))) for each in message.fields.values()))


def _field(field: MessageField, file: ProtoFile, around: tuple[MessageType, ...]) -> ColumnType:
    kind = _type(field.type, file, around)
    return Array(kind) if field.label == "repeated" else kind


def _type(kind: FieldType, file: ProtoFile, around: tuple[MessageType, ...]) -> ColumnType:
    match kind:
        case Scalar(name):
            return _SCALARS[name]
        case MapOf(key, value):
            return Map(_SCALARS[key.name], _type(value, file, around))
        case Named(full_name):
            if full_name in _MEANT:
                return _MEANT[full_name]
            found = file.types.get(full_name)
            return _message(found, file, around) if isinstance(found, MessageType) else STRING


# -- values ----------------------------------------------------------------------------------------


def converter_of(file: ProtoFile, message: MessageType) -> Converter | None:
    """From a value of the codec to a dict of :func:`columns_of`; None where the value is one
    already."""
    if not message.fields:
        return lambda value: {"value": as_json(value)}
    return _message_converter(message, file, ())


def _message_converter(message: MessageType, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    if any(each is message for each in around) or not message.fields:
        return as_json
    return struct_of({each.name: _field_converter(each, file, (*around, message)) for each in message.fields.values()})


def _field_converter(field: MessageField, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    convert = _type_converter(field.type, file, around)
    return array_of(convert) if field.label == "repeated" else convert


def _type_converter(kind: FieldType, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    match kind:
        case Scalar():
            return None
        case MapOf(_, value):
            return map_of(_type_converter(value, file, around))
        case Named(full_name):
            if full_name in _MEANT:
                return _meant(full_name)
            found = file.types.get(full_name)
            if isinstance(found, MessageType):
                return _message_converter(found, file, around)
            # A number that the enum does not name.
            return str if isinstance(found, EnumType) else as_json


def _meant(full_name: str) -> Converter | None:
    match full_name:
        case "google.protobuf.Timestamp":
            return None
        case "google.type.Date":
            return lambda value: date(value.get("year", 0), value.get("month", 0), value.get("day", 0))
        case "confluent.type.Decimal":
            return _decimal
        case "google.protobuf.Duration":
            return lambda value: value // MICROSECOND
        case "google.protobuf.Struct" | "google.protobuf.Value" | "google.protobuf.ListValue":
            return as_json
        case _:
            return None


def _decimal(value: dict[str, Any]) -> Number:
    unscaled = int.from_bytes(value.get("value") or b"", "big", signed=True)
    return Number(unscaled).scaleb(-value.get("scale", 0))
