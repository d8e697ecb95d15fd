"""Avro data as JSON: see :mod:`barnabas.schemas.json_view`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.codec import AvroCodec
from barnabas.schemas.avro.data_writing import Write, within, writer_of
from barnabas.schemas.avro.logical_types import logical_type_of
from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Fixed, Map, Primitive, Record, Union
from barnabas.schemas.avro.union_forms import Branch, UnionForm
from barnabas.schemas.errors import DoesNotEncode
from barnabas.schemas.limits import DATA_DEPTH_MAX

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class AvroJsonView:
    def __init__(self, schema: AvroSchema) -> None:
        self._root = schema.root
        # Without logical types, every valid payload can be shown.
        self._codec = AvroCodec(schema, logical_types=False, unions=UnionForm.INDEXED)
        # Of the branches of unions, to find the one that a value fits.
        self._writers: dict[int, Write] = {}

    def show(self, payload: bytes) -> object:
        return _shown(self._root, self._codec.decode(payload))

    def read(self, value: object) -> bytes:
        return self._codec.encode(self._value(self._root, value, DATA_DEPTH_MAX))

    def _value(self, type_: AvroType, value: Any, depth: int) -> object:
        """A value for the codec, which checks it once more. Raises :class:`DoesNotEncode`."""
        if depth <= 0:
            raise DoesNotEncode(f"the value is nested more than {DATA_DEPTH_MAX} deep")
        match type_:
            case Record(fields=fields) if isinstance(value, Mapping):
                types = {field.name: field.type for field in fields}
                return {name: self._inner(name, types[name], each, depth) if name in types else each for name, each in value.items()}
            case Array(items=items) if isinstance(value, list):
                return [self._inner(str(index), items, each, depth) for index, each in enumerate(value)]
            case Map(values=values) if isinstance(value, Mapping):
                return {key: self._inner(key, values, each, depth) for key, each in value.items()}
            case Union():
                return self._branch(type_, value, depth)
            case Primitive() | Fixed():
                return _read_scalar(type_, value)
        return value

    def _inner(self, step: str, type_: AvroType, value: Any, depth: int) -> object:
        try:
            return self._value(type_, value, depth - 1)
        except DoesNotEncode as error:
            raise within(error, step) from None

    def _branch(self, union: Union, value: Any, depth: int) -> Branch:
        named = _named_branch(union, value)
        if named is not None:
            return Branch(named.number, self._value(union.branches[named.number], named.value, depth))
        failures: list[DoesNotEncode] = []
        for index in sorted(range(len(union.branches)), key=lambda index: not _is_natural(union.branches[index], value)):
            branch = union.branches[index]
            if not _may_be(branch, value):
                continue
            try:
                read = self._value(branch, value, depth)
                self._writer(branch)(bytearray(), read, depth)
            except DoesNotEncode as error:
                failures.append(error)
            else:
                return Branch(index, read)
        if len(failures) == 1:
            raise failures[0]
        raise DoesNotEncode(f"the value fits none of the branches {', '.join(map(_name, union.branches))}")

    def _writer(self, type_: AvroType) -> Write:
        known = self._writers.get(id(type_))
        if known is None:
            known = self._writers[id(type_)] = writer_of(type_)
        return known


# -- from data to JSON -----------------------------------------------------------------------------


def _shown(type_: AvroType, data: Any) -> object:
    match type_:
        case Record(fields=fields):
            return {field.name: _shown(field.type, data[field.name]) for field in fields}
        case Array(items=items):
            return [_shown(items, each) for each in data]
        case Map(values=values):
            return {key: _shown(values, each) for key, each in data.items()}
        case Union(branches=branches):
            return _shown(branches[data.number], data.value)
        case Primitive() | Fixed():
            return _shown_scalar(type_, data)
    return data


def _shown_scalar(type_: Primitive | Fixed, data: Any) -> object:
    meant = logical_type_of(type_)
    if meant is not None and meant.name != "uuid":
        try:
            value = meant.value_of(data)
        except (ValueError, OverflowError):
            value = None  # No value of Python's, but data all the same.
        match value:
            case Decimal():
                return format(value, "f")
            case datetime() | date() | time():
                return value.isoformat()
    if isinstance(data, bytes):
        return data.decode("latin-1")
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    return data


# -- from JSON to data -----------------------------------------------------------------------------


def _read_scalar(type_: Primitive | Fixed, value: Any) -> object:
    if not isinstance(value, str):
        return value
    meant = logical_type_of(type_)
    if meant is not None:
        read = _read_meaning(meant.python_type, value)
        if read is not None:
            return read
    if type_.kind in ("bytes", "fixed"):
        try:
            return value.encode("latin-1")
        except UnicodeEncodeError:
            raise DoesNotEncode("bytes are characters up to U+00FF in JSON") from None
    return _NOT_FINITE.get(value, value) if type_.kind in ("float", "double") else value


def _read_meaning(python_type: type, text: str) -> object:
    """None if the text is no such value; it may be the data itself."""
    try:
        if python_type is Decimal:
            return Decimal(text) if _NUMBER.fullmatch(text) else None
        if python_type is datetime:
            return datetime.fromisoformat(text)
        if python_type is date:
            return date.fromisoformat(text)
        if python_type is time:
            return time.fromisoformat(text)
        return UUID(text)
    except ValueError:
        return None


def _named_branch(union: Union, value: Any) -> Branch | None:
    """``{"string": "x"}``, unless a record or map of the union takes it as it is."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((name, inner),) = value.items()
    if any(isinstance(branch, Map) or (isinstance(branch, Record) and name in _names(branch)) for branch in union.branches):
        return None
    return next((Branch(index, inner) for index, branch in enumerate(union.branches) if name == _name(branch)), None)


def _names(record: Record) -> set[str]:
    return {field.name for field in record.fields}


def _name(branch: AvroType) -> str:
    return branch.name.full if isinstance(branch, Fixed | Enumeration | Record) else branch.kind


def _may_be(branch: AvroType, value: Any) -> bool:
    match branch:
        case Record() | Map():
            return isinstance(value, Mapping)
        case Array():
            return isinstance(value, list)
    return not isinstance(value, Mapping | list)


def _is_natural(branch: AvroType, value: Any) -> bool:
    match branch.kind:
        case "int" | "long":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float" | "double":
            return isinstance(value, float)
        case "string" | "enum":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
    return isinstance(value, Mapping | list)
