"""A ``.proto`` file for the columns of a sink that has none of its own.

Data names its fields by number, so numbers must never change their meaning: a column keeps the
number that it has in the version before, a new one gets a number that no column ever had, and the
number of a column that is gone stays reserved. Every field is ``optional``, except arrays and maps,
which Protobuf cannot tell from empty ones. Dates and decimals are texts: Protobuf brings no type
for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.pipelines.column_types import Array, ColumnType, Decimal, Map, Scalar, Struct
from barnabas.pipelines.errors import CannotRun
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_SCALARS: Final = {
    "void": "string",
    "boolean": "bool",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": "string",
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": "string",
}
_KEYS: Final = frozenset({"int32", "int64", "bool", "string"})
# Protobuf keeps these numbers for itself.
_RESERVED_BY_PROTOBUF: Final = range(19_000, 20_000)


@dataclass(frozen=True, slots=True)
class MessageBefore:
    """The numbers of a message in the latest version."""

    numbers: Mapping[str, int] = field(default_factory=dict)  # by the field's name
    reserved: frozenset[int] = frozenset()
    inner: Mapping[str, MessageBefore] = field(default_factory=dict)  # nested messages by name


def before_of(schema: ProtobufSchema, record: str) -> MessageBefore:
    """Without such a message in the file, a message without fields."""
    for each in schema.elements.file_elements:
        if type(each).__name__ == "Message" and each.name == record.rpartition(".")[2]:
            return _before(each)
    return MessageBefore()


def _before(message: Any) -> MessageBefore:
    fields, reserved, inner = {}, set(), {}
    for each in message.elements:
        match type(each).__name__:
            case "Field" | "MapField":
                fields[each.name] = each.number
            case "Reserved":
                for text in each.ranges:
                    reserved |= _range(text)
            case "Message":
                inner[each.name] = _before(each)
    return MessageBefore(fields, frozenset(reserved), inner)


def _range(text: str) -> set[int]:
    """``7``, or ``4 to 6``. Our own files have single numbers; of a range the ends are enough to
    continue after it."""
    return {int(each) for each in text.split(" to ") if each.strip().isdecimal()}


def protobuf_of(columns: Struct, record: str, before: MessageBefore | None = None) -> str:
    """``record``: the full name of the message. ``before``: the message of the latest version."""
    package, _, name = record.rpartition(".")
    lines = list(_message(columns, name, before or MessageBefore(), ""))
    imports = ['import "google/protobuf/timestamp.proto";'] if any(_TIMESTAMP in line for line in lines) else []
    return "\n".join(['syntax = "proto3";', *([f"package {package};"] if package else []), *imports, *lines, ""])


def _message(struct: Struct, name: str, before: MessageBefore, indent: str) -> Iterator[str]:
    names = [column for column, _ in struct.fields]
    numbers = _numbers(names, before)
    yield f"{indent}message {name} {{"
    if gone := {number for column, number in before.numbers.items() if column not in names} | before.reserved:
        yield f"{indent}  reserved {', '.join(map(str, sorted(gone)))};"
    for column, kind in struct.fields:
        if not _NAME.fullmatch(column):
            raise CannotRun(f"Protobuf has no field {column!r}: names have letters, digits and underscores; rename the column.")
        nested = f"{column.capitalize()}Fields"
        element = kind.element if isinstance(kind, Array) else kind.value if isinstance(kind, Map) else kind
        if isinstance(element, Struct):
            yield from _message(element, nested, before.inner.get(nested, MessageBefore()), f"{indent}  ")
        yield f"{indent}  {_field(kind, nested)} {column} = {numbers[column]};"
    yield f"{indent}}}"


def _field(kind: ColumnType, nested: str) -> str:
    match kind:
        case Array(element):
            return f"repeated {_type(element, nested)}"
        case Map(key, value):
            name = _type(key, nested)
            if name not in _KEYS:
                raise CannotRun("Protobuf's maps have keys of text or whole numbers; turn the keys of the map into texts.")
            return f"map<{name}, {_type(value, nested)}>"
        case _:
            return f"optional {_type(kind, nested)}"


def _type(kind: ColumnType, nested: str) -> str:
    match kind:
        case Scalar(name):
            return _SCALARS[name]
        case Decimal():
            return "string"
        case Struct():
            return nested
        case Array() | Map():
            raise CannotRun("Protobuf has no lists of lists or maps; put the inner one into a struct.")


def _numbers(names: list[str], before: MessageBefore) -> dict[str, int]:
    following = max([*before.numbers.values(), *before.reserved], default=0) + 1
    numbers = {}
    for name in names:
        if name in before.numbers:
            numbers[name] = before.numbers[name]
            continue
        if following in _RESERVED_BY_PROTOBUF:
            following = _RESERVED_BY_PROTOBUF.stop
        numbers[name] = following
        following += 1
    return numbers
