"""The descriptor of a ``.proto`` file, for clients that ask for a schema in this form."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from barnabas.schemas.protobuf.model import EnumType, FieldType, MapOf, MessageField, MessageType, Named, ProtoFile, Scalar

SCALAR_NUMBERS: Final = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "fixed64": 6,
    "fixed32": 7,
    "bool": 8,
    "string": 9,
    "bytes": 12,
    "uint32": 13,
    "sfixed32": 15,
    "sfixed64": 16,
    "sint32": 17,
    "sint64": 18,
}
_GROUP, _MESSAGE, _ENUM = 10, 11, 14
_LABELS: Final = {None: 1, "optional": 1, "required": 2, "repeated": 3}


def encoded_descriptor(file: ProtoFile, name: str) -> str:
    """Base64 of the file's descriptor."""
    return b64encode(descriptor_of(file, name).SerializeToString()).decode()


def descriptor_of(file: ProtoFile, name: str) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    described = FileDescriptorProto(name=name, package=file.package, dependency=list(file.imports))
    if file.syntax == "proto3":
        described.syntax = file.syntax
    for message in file.messages:
        _message(described.message_type.add(), message, file)
    for enum in file.enums:
        _enum(described.enum_type.add(), enum)
    return described


def _message(described: Any, message: MessageType, file: ProtoFile) -> None:
    described.name = message.name
    for oneof in message.oneofs:
        described.oneof_decl.add().name = oneof
    synthetic = [field for field in message.fields.values() if file.syntax == "proto3" and field.label == "optional"]
    for field in message.fields.values():
        _field(described, field, message, file.types)
        if field in synthetic:
            # Presence of a proto3 field is a oneof of its own in a descriptor.
            described.field[-1].proto3_optional = True
            described.field[-1].oneof_index = len(described.oneof_decl)
            described.oneof_decl.add().name = f"_{field.name}"
    for nested in message.messages:
        _message(described.nested_type.add(), nested, file)
    for enum in message.enums:
        _enum(described.enum_type.add(), enum)


def _field(described: Any, field: MessageField, message: MessageType, types: Mapping[str, MessageType | EnumType]) -> None:
    added = described.field.add(name=field.name, number=field.number, label=_LABELS[field.label])
    if field.oneof is not None:
        added.oneof_index = message.oneofs.index(field.oneof)
    if isinstance(field.type, MapOf):
        entry = described.nested_type.add(name=_entry_name(field.name))
        entry.options.map_entry = True
        _set_type(entry.field.add(name="key", number=1, label=1), field.type.key, types)
        _set_type(entry.field.add(name="value", number=2, label=1), field.type.value, types)
        added.label, added.type, added.type_name = 3, _MESSAGE, f".{message.full_name}.{entry.name}"
    else:
        _set_type(added, field.type, types)
        if field.is_group:
            added.type = _GROUP


def _set_type(described: Any, type_: FieldType, types: Mapping[str, MessageType | EnumType]) -> None:
    match type_:
        case Scalar(name=name):
            described.type = SCALAR_NUMBERS[name]
        case Named(full_name=full_name):
            described.type = _ENUM if isinstance(types.get(full_name), EnumType) else _MESSAGE
            described.type_name = f".{full_name}"


def _enum(described: Any, enum: EnumType) -> None:
    described.name = enum.name
    for number, name in enum.values.items():
        described.value.add(name=name, number=number)


def _entry_name(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"
