"""Rows of Arrow as values of a Protobuf codec: the way back of :mod:`.protobuf_columns`."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal as Number
from typing import Any

from barnabas.pipelines.column_types import Decimal
from barnabas.pipelines.registered.converting import Converter, array_of, dict_of, struct_of
from barnabas.pipelines.registered.protobuf_columns import MICROSECOND, scalar_column
from barnabas.schemas.protobuf.model import FieldType, MapOf, MessageField, MessageType, Named, ProtoFile, Scalar


def converter_of(file: ProtoFile, message: MessageType) -> Converter | None:
    if not message.fields:
        return lambda row: json.loads(row["value"] or "{}")
    return _message(message, file, ())


def _message(message: MessageType, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    if any(each is message for each in around) or not message.fields:
        return json.loads
    return struct_of({each.name: _field(each, file, (*around, message)) for each in message.fields.values()})


def _field(field: MessageField, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    convert = _type(field.type, file, around)
    return array_of(convert) if field.label == "repeated" else convert


def _type(kind: FieldType, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    match kind:
        case Scalar(name):
            return int if isinstance(scalar_column(name), Decimal) else None
        case MapOf(_, value):
            return dict_of(_type(value, file, around))
        case Named(full_name):
            return _named(full_name, file, around)


def _named(full_name: str, file: ProtoFile, around: tuple[MessageType, ...]) -> Converter | None:
    match full_name:
        case "google.protobuf.Duration":
            return lambda micros: micros * MICROSECOND
        case "google.protobuf.Struct" | "google.protobuf.Value" | "google.protobuf.ListValue":
            return json.loads
        case "google.protobuf.UInt64Value":
            return int
        case "google.type.Date":
            return _date
        case "confluent.type.Decimal":
            return _decimal
    if full_name.startswith("google.protobuf."):
        return None
    found = file.types.get(full_name)
    return _message(found, file, around) if isinstance(found, MessageType) else None


def _date(value: date) -> dict[str, int]:
    return {"year": value.year, "month": value.month, "day": value.day}


def _decimal(value: Number) -> dict[str, Any]:
    _, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int), "Arrow has no infinite decimals"
    scale = max(-exponent, 0)
    unscaled = int(value.scaleb(scale))
    data = unscaled.to_bytes((unscaled.bit_length() + 8) // 8, "big", signed=True)
    return {"value": data, "precision": max(len(digits), 1), "scale": scale}
