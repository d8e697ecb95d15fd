"""Between messages and dicts.

A message is a dict of all its fields, by their names in the file. A field that knows whether it is
set (a message, an ``optional`` field, a member of a ``oneof``) is None when it is not; any other
has its default then. Numbers are numbers, bytes are bytes, and an enum is the name of its value, or
the number if the schema has no name for it.

Each type of message is looked at once, because the library's descriptors are slow to ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, DoesNotFit
from barnabas.schemas.limits import DATA_DEPTH_MAX
from barnabas.schemas.protobuf.descriptors import SCALAR_NUMBERS
from barnabas.schemas.protobuf.well_known_types import WellKnown, well_known

_KINDS: Final = {number: name for name, number in SCALAR_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class _FieldShape:
    name: str
    repeated: bool
    has_presence: bool
    symbols: Mapping[int, str] | None
    """The names of an enum's values."""
    numbers: Mapping[str, int] | None
    message: Shape | None
    map_value: _FieldShape | None
    oneof: str | None
    kind: str
    """The type as the schema names it, such as ``int64``."""

    def element(self, data: Any) -> object:
        if self.message is not None:
            return self.message.value_of(data)
        return self.symbols.get(data, data) if self.symbols is not None else data

    def refusal(self, value: Any, step: str) -> DoesNotEncode:
        """The library refuses the value, with an error that says little."""
        shown = repr(value) if isinstance(value, int | float | str) and len(repr(value)) <= 50 else ""
        return DoesNotEncode(f"the {type(value).__name__} {shown}".rstrip() + f" is no {self.kind}", step)

    def scalar(self, value: Any) -> Any:
        """What the library takes for a value that is no message."""
        if self.numbers is not None and isinstance(value, str):
            if value not in self.numbers:
                raise DoesNotEncode(f"{value!r} is none of the values {', '.join(self.numbers)}")
            return self.numbers[value]
        return value


class Shape:
    """The fields of a type of message."""

    __slots__ = ("_by_name", "_fields", "_meaning", "full_name")

    def __init__(self, full_name: str, meaning: WellKnown | None) -> None:
        self.full_name = full_name
        self._meaning = meaning
        self._fields: tuple[_FieldShape, ...] = ()
        self._by_name: Mapping[str, _FieldShape] = {}

    def define(self, fields: Sequence[_FieldShape]) -> None:
        self._fields = tuple(fields)
        self._by_name = {field.name: field for field in fields}

    def value_of(self, message: Any) -> object:
        if self._meaning is not None:
            return self._meaning.value_of(message)
        found: dict[str, object] = {}
        for field in self._fields:
            try:
                found[field.name] = _field_value(field, message)
            except DoesNotFit as error:
                raise _within(error, field.name) from None
        return found

    def fill(self, message: Any, value: Any, depth: int = DATA_DEPTH_MAX) -> None:
        if depth <= 0:
            raise DoesNotEncode(f"the value is nested more than {DATA_DEPTH_MAX} deep")
        if self._meaning is not None and not isinstance(value, Mapping):
            self._meaning.fill(message, value)
            return
        if not isinstance(value, Mapping):
            raise DoesNotEncode(f"a value of type {type(value).__name__} is no message {self.full_name}")
        if self.full_name == "google.protobuf.Struct" and self._meaning is not None:
            self._meaning.fill(message, value)
            return
        chosen: dict[str, str] = {}
        for name, each in value.items():
            field = self._by_name.get(name)
            if field is None:
                raise DoesNotEncode(f"the message {self.full_name} has no field {name}")
            if each is None:
                continue
            if field.oneof is not None and chosen.setdefault(field.oneof, name) != name:
                raise DoesNotEncode(f"the oneof {field.oneof} has both {chosen[field.oneof]} and {name}")
            try:
                _fill_field(field, message, each, depth - 1)
            except DoesNotFit as error:
                raise _within(error, name) from None
            except (TypeError, ValueError):
                raise field.refusal(each, name) from None


def _field_value(field: _FieldShape, message: Any) -> object:
    if field.map_value is not None:
        data = getattr(message, field.name)
        return {key: field.map_value.element(data[key]) for key in data}
    if field.repeated:
        return [field.element(each) for each in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return field.element(getattr(message, field.name))


def _fill_field(field: _FieldShape, message: Any, value: Any, depth: int) -> None:
    if field.map_value is not None:
        _fill_map(field.map_value, getattr(message, field.name), value, depth)
    elif field.repeated:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
            raise DoesNotEncode(f"a value of type {type(value).__name__} is no list")
        target = getattr(message, field.name)
        for index, each in enumerate(value):
            try:
                if field.message is not None:
                    field.message.fill(target.add(), each, depth)
                else:
                    target.append(field.scalar(each))
            except DoesNotFit as error:
                raise _within(error, str(index)) from None
            except (TypeError, ValueError):
                raise field.refusal(each, str(index)) from None
    elif field.message is not None:
        inner = getattr(message, field.name)
        inner.SetInParent()
        field.message.fill(inner, value, depth)
    else:
        setattr(message, field.name, field.scalar(value))


def _fill_map(value_field: _FieldShape, target: Any, value: Any, depth: int) -> None:
    if not isinstance(value, Mapping):
        raise DoesNotEncode(f"a value of type {type(value).__name__} is no map")
    for key, each in value.items():
        try:
            if value_field.message is not None:
                value_field.message.fill(target[key], each, depth)
            else:
                target[key] = value_field.scalar(each)
        except DoesNotFit as error:
            raise _within(error, str(key)) from None
        except (TypeError, ValueError):
            raise value_field.refusal(each, str(key)) from None


def shape_of(descriptor: Any, *, logical_types: bool, known: dict[str, Shape] | None = None) -> Shape:
    known = {} if known is None else known
    found = known.get(descriptor.full_name)
    if found is None:
        meaning = well_known(descriptor.full_name) if logical_types else None
        # Known before its fields: a message may contain itself.
        found = known[descriptor.full_name] = Shape(descriptor.full_name, meaning)
        found.define([_field_shape(field, known, logical_types) for field in descriptor.fields])
    return found


def _field_shape(field: Any, known: dict[str, Shape], logical_types: bool) -> _FieldShape:
    message = field.message_type
    is_map = message is not None and message.GetOptions().map_entry
    oneof = field.containing_oneof
    return _FieldShape(
        field.name,
        field.label == field.LABEL_REPEATED,
        field.has_presence,
        {value.number: value.name for value in reversed(field.enum_type.values)} if field.enum_type is not None else None,
        {value.name: value.number for value in field.enum_type.values} if field.enum_type is not None else None,
        shape_of(message, logical_types=logical_types, known=known) if message is not None and not is_map else None,
        _field_shape(message.fields_by_name["value"], known, logical_types) if is_map else None,
        oneof.name if oneof is not None else None,
        _KINDS.get(field.type, "message") if field.enum_type is None else f"enum {field.enum_type.full_name}",
    )


def _within(error: DoesNotFit, step: str) -> DoesNotFit:
    """The error, as seen from one level further out."""
    path = f"{step}/{error.path}" if error.path else step
    return DoesNotDecode(error.reason, path) if isinstance(error, DoesNotDecode) else DoesNotEncode(error.reason, path)
