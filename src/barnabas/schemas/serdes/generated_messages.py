"""Classes that Protobuf's compiler generates: their schemas, and their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema, NotFramed
from barnabas.schemas.framing import read_indexes, write_indexes
from barnabas.schemas.limits import DATA_BYTES_MAX
from barnabas.schemas.protobuf.builtin_files import is_builtin
from barnabas.schemas.protobuf.descriptor_text import text_of_descriptor
from barnabas.schemas.protobuf.message_types import message_at, position_of
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import Reference, ResolvedReference, SchemaType
from barnabas.schemas.serdes.registry_port import Registry
from barnabas.schemas.serdes.written_schema import SchemaText


def is_generated(type_: Any) -> TypeGuard[Any]:
    return isinstance(type_, type) and hasattr(type_, "DESCRIPTOR") and hasattr(type_, "SerializeToString")


def schema_text_of(registry: Registry, type_: Any, *, auto_register: bool) -> SchemaText:
    """The file of the class. Imported files are registered under their names, as Confluent's
    serializers do, when the schema itself is."""
    file = type_.DESCRIPTOR.file
    text = _text(file)
    resolved: dict[str, str] = {}
    _collect(file, resolved)
    parsed = ProtobufSchema.parse(text, [ResolvedReference(name, each) for name, each in resolved.items()])
    return SchemaText(SchemaType.PROTOBUF, text, parsed, lambda: _references(registry, file, auto_register))


class GeneratedCodec:
    """A codec whose values are messages of one class."""

    def __init__(self, schema: ProtobufSchema, type_: Any) -> None:
        self._schema = schema
        self._type = type_
        self._full_name: str = type_.DESCRIPTOR.full_name

    def decode(self, payload: bytes) -> object:
        from google.protobuf.message import DecodeError

        if len(payload) > DATA_BYTES_MAX:
            raise DoesNotDecode(f"the message has {len(payload)} bytes, and the limit is {DATA_BYTES_MAX}")
        try:
            indexes, data = read_indexes(payload)
        except NotFramed as error:
            raise DoesNotDecode(str(error).rstrip(".")) from None
        written = message_at(self._schema, indexes)
        if written != self._full_name:
            raise DoesNotDecode(f"the data is a message {written}, and not {self._full_name}")
        message = self._type()
        try:
            message.ParseFromString(data)
        except DecodeError:
            raise DoesNotDecode(f"the bytes are no message {written}") from None
        return message

    def encode(self, value: object) -> bytes:
        from google.protobuf.message import EncodeError

        if not isinstance(value, self._type):
            raise DoesNotEncode(f"a value of type {type(value).__name__} is no message {self._full_name}")
        indexes = position_of(self._schema, self._full_name)
        if indexes is None:
            raise DoesNotEncode(f"the schema has no message {self._full_name}")
        message: Any = value
        try:
            return write_indexes(indexes) + bytes(message.SerializeToString())
        except EncodeError as error:
            raise DoesNotEncode(str(error)) from None


def _text(file: Any) -> str:
    text = text_of_descriptor(file.serialized_pb)
    if text is None:
        raise InvalidSchema(f"The file {file.name} has no descriptor that can be read.")
    return text


def _collect(file: Any, found: dict[str, str]) -> None:
    """The imported files, each after those that it imports itself."""
    for imported in file.dependencies:
        if not is_builtin(imported.name) and imported.name not in found:
            _collect(imported, found)
            found[imported.name] = _text(imported)


def _references(registry: Registry, file: Any, auto_register: bool) -> Sequence[Reference]:
    references = []
    for imported in file.dependencies:
        if is_builtin(imported.name):
            continue
        inner = _references(registry, imported, auto_register)
        subject, text = imported.name, _text(imported)
        if auto_register:
            registry.register(subject, SchemaType.PROTOBUF, text, inner)
        version = registry.lookup(subject, SchemaType.PROTOBUF, text, inner).version
        assert version is not None, "a lookup answers with a version"
        references.append(Reference(imported.name, subject, version))
    return references
