"""Classes of messages that are made from a schema while the program runs.

Every schema has a pool of its own: two schemas may define the same names differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.protobuf.builtin_files import builtin_descriptor
from barnabas.schemas.protobuf.descriptors import descriptor_of
from barnabas.schemas.protobuf.model import MessageType, ProtoFile
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema

_MAIN_FILE: Final = "barnabas/schema.proto"


class MessageTypes:
    """The messages of a schema, by name and by their position in the file."""

    def __init__(self, schema: ProtobufSchema) -> None:
        self._schema = schema
        self._pool = _pool(schema)

    def full_name(self, indexes: Sequence[int]) -> str | None:
        return message_at(self._schema, indexes)

    def indexes(self, full_name: str) -> tuple[int, ...] | None:
        return position_of(self._schema, full_name)

    def message_class(self, full_name: str) -> Any:
        """None if neither the file nor its imports define the message."""
        from google.protobuf.message_factory import GetMessageClass

        try:
            return GetMessageClass(self._pool.FindMessageTypeByName(full_name))
        except KeyError:
            return None


def message_at(schema: ProtobufSchema, indexes: Sequence[int]) -> str | None:
    """The full name of the message at a position: one index for each level of nesting."""
    messages: Sequence[MessageType] = schema.file.messages
    found = None
    for index in indexes:
        if index >= len(messages):
            return None
        found = messages[index]
        messages = found.messages
    return found.full_name if found is not None else None


def position_of(schema: ProtobufSchema, full_name: str) -> tuple[int, ...] | None:
    """The position of a message that the file itself defines."""
    return _position(schema.file.messages, full_name)


def _position(messages: Sequence[MessageType], full_name: str) -> tuple[int, ...] | None:
    for index, message in enumerate(messages):
        if message.full_name == full_name:
            return (index,)
        if full_name.startswith(f"{message.full_name}."):
            inner = _position(message.messages, full_name)
            if inner is not None:
                return (index, *inner)
    return None


def _pool(schema: ProtobufSchema) -> Any:
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    try:
        _add(pool, _MAIN_FILE, schema.file, schema, {})
    except TypeError as error:
        # The library says so for a descriptor that it cannot use.
        raise InvalidSchema(f"The schema cannot be used: {error}.") from None
    return pool


def _add(pool: Any, name: str, file: ProtoFile, schema: ProtobufSchema, added: dict[str, frozenset[str]]) -> frozenset[str]:
    """Add a file after those that it imports; the names of all of them."""
    if name in added:
        return added[name]
    reachable: set[str] = set()
    for imported in file.imports:
        if imported in schema.known:
            reachable |= _add(pool, imported, schema.known[imported], schema, added)
        else:
            reachable |= _add_builtin(pool, imported, added)
    described = descriptor_of(file, name)
    # The parser lets a file use what its imports import; a descriptor must list all of that.
    described.ClearField("dependency")
    described.dependency.extend(sorted(reachable))
    pool.Add(described)
    added[name] = frozenset({name, *reachable})
    return added[name]


def _add_builtin(pool: Any, name: str, added: dict[str, frozenset[str]]) -> frozenset[str]:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    if name in added:
        return added[name]
    serialized = builtin_descriptor(name)
    if serialized is None:
        # Not installed. A file of options only is not needed; a type that is missing fails below.
        return frozenset()
    described = FileDescriptorProto.FromString(serialized)
    reachable = {name}
    for imported in described.dependency:
        reachable |= _add_builtin(pool, imported, added)
    pool.AddSerializedFile(serialized)
    added[name] = frozenset(reachable)
    return added[name]
