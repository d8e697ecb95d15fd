"""From objects to the values that a codec encodes.

The formats differ in what they have types for: Avro has times, decimals and UUIDs, Protobuf has
times and durations, JSON has none of them. What a format lacks becomes text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any, Final
from uuid import UUID

from barnabas.schemas.errors import DoesNotEncode
from barnabas.schemas.serdes.python_types.pydantic_models import is_model
from barnabas.schemas.serdes.python_types.shapes import Anything, Choice, Enumeration, Items, Record, Scalar, Shape, Values


class Form(StrEnum):
    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


ToValue = Callable[[Any], Any]

_TEXTS: Final[dict[type, ToValue]] = {
    datetime: lambda value: value.isoformat(),
    date: lambda value: value.isoformat(),
    time: lambda value: value.isoformat(),
    timedelta: lambda value: value.total_seconds(),
    Decimal: lambda value: format(value, "f"),
    UUID: str,
    bytes: lambda value: b64encode(value).decode(),
}
_CONVERTED: Final = {
    Form.AVRO: frozenset[type](),
    Form.JSON: frozenset(_TEXTS),
    Form.PROTOBUF: frozenset({date, time, Decimal, UUID}),
}


def to_values(shape: Shape, form: Form) -> ToValue:
    """The function raises :class:`DoesNotEncode` for an object of another type."""
    if form is Form.JSON and isinstance(shape, Record) and is_model(shape.type):
        return _dumped(shape)
    return _Compiler(form).function(shape)


class _Compiler:
    def __init__(self, form: Form) -> None:
        self._form = form
        self._made: dict[int, list[ToValue]] = {}

    def function(self, shape: Shape) -> ToValue:
        box = self._made.get(id(shape))
        if box is None:
            box = self._made[id(shape)] = []
            box.append(self._compiled(shape))
        if box:
            return box[0]
        return lambda value: box[0](value)  # of a type that contains itself

    def _compiled(self, shape: Shape) -> ToValue:
        match shape:
            case Scalar(type=type_):
                convert = _TEXTS.get(type_) if type_ in _CONVERTED[self._form] else None
                if convert is None:
                    return _as_it_is
                return lambda value: convert(value) if isinstance(value, type_) else value
            case Enumeration():
                by_value = self._form is Form.JSON
                return lambda value: (value.value if by_value else value.name) if isinstance(value, Enum) else value
            case Items(item=item):
                each_item = self.function(item)
                return lambda value: [each_item(each) for each in value] if _is_collection(value) else value
            case Values(value=inner):
                each_value = self.function(inner)
                return lambda value: {key: each_value(each) for key, each in value.items()} if isinstance(value, Mapping) else value
            case Choice(branches=branches):
                return self._choice(branches)
            case Anything():
                return _as_it_is
            case Record():
                return self._record(shape)

    def _record(self, shape: Record) -> ToValue:
        fields = [(each.name, self.function(each.shape)) for each in shape.fields]
        read = shape.read
        is_mapping = read is not getattr
        type_ = shape.type

        def convert(value: Any) -> Any:
            if is_mapping or isinstance(value, Mapping):
                # A dict stands for a record too; its codec checks the names.
                found = dict(value)
                return {**found, **{name: inner(found[name]) for name, inner in fields if name in found}}
            if not isinstance(value, type_):
                raise DoesNotEncode(f"a value of type {type(value).__name__} is no {type_.__name__}")
            return {name: inner(read(value, name)) for name, inner in fields}

        return convert

    def _choice(self, branches: tuple[Shape, ...]) -> ToValue:
        functions = [(branch, self.function(branch)) for branch in branches]
        names_records = self._form is Form.AVRO and sum(isinstance(branch, Record) for branch in branches) > 1

        def convert(value: Any) -> Any:
            if value is None:
                return None
            for branch, function in functions:
                if _is_instance(value, branch):
                    made = function(value)
                    return (branch.name, made) if names_records and isinstance(branch, Record) else made
            return value

        return convert


def _dumped(shape: Record) -> ToValue:
    def convert(value: Any) -> Any:
        if isinstance(value, Mapping):
            return value
        if not isinstance(value, shape.type):
            raise DoesNotEncode(f"a value of type {type(value).__name__} is no {shape.name}")
        return value.model_dump(mode="json", by_alias=True)  # type: ignore[attr-defined]

    return convert


def _as_it_is(value: Any) -> Any:
    return value


def _is_collection(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _is_instance(value: Any, shape: Shape) -> bool:
    match shape:
        case Scalar(type=type_):
            # Neither is a bool an int here, nor a datetime a date.
            return type(value) is type_ or (isinstance(value, type_) and type_ not in (int, date))
        case Enumeration(type=type_) | Record(type=type_):
            return isinstance(value, type_)
        case Items():
            return _is_collection(value)
        case Values():
            return isinstance(value, Mapping)
        case Choice(branches=branches):
            return any(_is_instance(value, branch) for branch in branches)
    return True
