"""A ``.proto`` file from its descriptor, which is how Python's serializers send schemas."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterable, Iterator
from typing import Any, Final

_TYPES: Final = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
_GROUP: Final = 10
_LABELS: Final = {1: "optional", 2: "required", 3: "repeated"}
_RANGE_END_MAX: Final = 2**29


def text_of(encoded: str) -> str | None:
    """The file that a base64 text describes; None if it describes none."""
    try:
        return text_of_descriptor(b64decode(encoded.strip(), validate=True))
    except (NoBase64, ValueError):
        return None


def text_of_descriptor(descriptor: bytes) -> str | None:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        return "\n".join(_file(FileDescriptorProto.FromString(descriptor)))
    except DecodeError:
        return None


def _file(file: Any) -> Iterator[str]:
    syntax = file.syntax or "proto2"
    yield f'syntax = "{syntax}";'
    if file.package:
        yield f"package {file.package};"
    public = set(file.public_dependency)
    for index, name in enumerate(file.dependency):
        yield f'import {"public " if index in public else ""}"{name}";'
    yield from (f"option {each};" for each in _options(file.options))
    for message in file.message_type:
        yield from _message(message, syntax)
    for enum in file.enum_type:
        yield from _enum(enum)
    yield from _extensions(file.extension, syntax)
    for service in file.service:
        yield f"service {service.name} {{"
        yield from (f"option {each};" for each in _options(service.options))
        for method in service.method:
            taken = f"{'stream ' if method.client_streaming else ''}{method.input_type}"
            given = f"{'stream ' if method.server_streaming else ''}{method.output_type}"
            yield f"rpc {method.name} ({taken}) returns ({given});"
        yield "}"


def _message(message: Any, syntax: str) -> Iterator[str]:
    yield f"message {message.name} {{"
    yield from _body(message, syntax)
    yield "}"


def _body(message: Any, syntax: str) -> Iterator[str]:
    # Maps and groups are messages of their own in a descriptor.
    maps = {f".{nested.name}": nested for nested in message.nested_type if nested.options.map_entry}
    groups = {field.type_name.rpartition(".")[2] for field in message.field if field.type == _GROUP}
    yield from (f"option {each};" for each in _options(message.options))
    for field in message.field:
        if not field.HasField("oneof_index") or field.proto3_optional:
            yield from _field(field, message, maps, syntax)
    for index, oneof in enumerate(message.oneof_decl):
        members = [
            each for each in message.field if each.HasField("oneof_index") and each.oneof_index == index and not each.proto3_optional
        ]
        if members:
            yield f"oneof {oneof.name} {{"
            for field in members:
                yield from _field(field, message, maps, syntax, in_oneof=True)
            yield "}"
    for nested in message.nested_type:
        if not nested.options.map_entry and nested.name not in groups:
            yield from _message(nested, syntax)
    for enum in message.enum_type:
        yield from _enum(enum)
    yield from (f"extensions {_range(each.start, each.end)};" for each in message.extension_range)
    yield from (f"reserved {_range(each.start, each.end)};" for each in message.reserved_range)
    yield from (f'reserved "{name}";' for name in message.reserved_name)
    yield from _extensions(message.extension, syntax)


def _field(field: Any, message: Any, maps: dict[str, Any], syntax: str, *, in_oneof: bool = False) -> Iterator[str]:
    entry = next((nested for name, nested in maps.items() if field.type_name.endswith(f".{message.name}{name}")), None)
    options = _field_options(field)
    if entry is not None:
        key, value = entry.field
        yield f"map<{_type(key)}, {_type(value)}> {field.name} = {field.number}{options};"
        return
    label = "" if in_oneof or (syntax == "proto3" and field.label == 1 and not field.proto3_optional) else f"{_LABELS[field.label]} "
    if field.type == _GROUP:
        nested = next(each for each in message.nested_type if field.type_name.endswith(f".{each.name}"))
        yield f"{label}group {nested.name} = {field.number} {{"
        yield from _body(nested, syntax)
        yield "}"
        return
    yield f"{label}{_type(field)} {field.name} = {field.number}{options};"


def _type(field: Any) -> str:
    return _TYPES.get(field.type) or field.type_name


def _field_options(field: Any) -> str:
    options = list(_options(field.options))
    if field.HasField("default_value"):
        text = field.default_value
        options.append(f"default = {_quoted(text) if field.type in (9, 12) else text}")
    if field.json_name and field.json_name != _json_name(field.name):
        options.append(f"json_name = {_quoted(field.json_name)}")
    return f" [{', '.join(options)}]" if options else ""


def _enum(enum: Any) -> Iterator[str]:
    yield f"enum {enum.name} {{"
    yield from (f"option {each};" for each in _options(enum.options))
    for value in enum.value:
        options = ", ".join(_options(value.options))
        yield f"{value.name} = {value.number}{f' [{options}]' if options else ''};"
    # The ranges of enums include their ends, unlike those of messages.
    yield from (f"reserved {_range(each.start, each.end + 1)};" for each in enum.reserved_range)
    yield from (f'reserved "{name}";' for name in enum.reserved_name)
    yield "}"


def _extensions(fields: Iterable[Any], syntax: str) -> Iterator[str]:
    for field in fields:
        yield f"extend {field.extendee} {{"
        yield from _field(field, field, {}, syntax)
        yield "}"


def _options(options: Any) -> Iterator[str]:
    """The options that Protobuf defines itself; a descriptor has others only as unknown bytes."""
    for field, value in options.ListFields():
        if field.name == "map_entry" or field.message_type is not None or not isinstance(value, str | bool | int):
            continue
        if field.enum_type is not None:
            yield f"{field.name} = {field.enum_type.values_by_number[value].name}"
        elif isinstance(value, bool):
            yield f"{field.name} = {'true' if value else 'false'}"
        elif isinstance(value, str):
            yield f"{field.name} = {_quoted(value)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _range(start: int, end: int) -> str:
    last = "max" if end >= _RANGE_END_MAX else str(end - 1)
    return str(start) if end - 1 == start else f"{start} to {last}"
