"""Protobuf messages, after the indexes that say which message of the file they are."""

from __future__ import annotations

from typing import Any

from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema, NotFramed
from barnabas.schemas.framing import read_indexes, write_indexes
from barnabas.schemas.limits import DATA_BYTES_MAX
from barnabas.schemas.protobuf.message_types import MessageTypes
from barnabas.schemas.protobuf.message_values import Shape, shape_of
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema


class ProtobufCodec:
    """Unknown fields are no error: that is how Protobuf evolves."""

    def __init__(
        self,
        schema: ProtobufSchema,
        reader: ProtobufSchema | None = None,
        *,
        logical_types: bool = True,
        message: str | None = None,
    ) -> None:
        self._written = MessageTypes(schema)
        self._read = MessageTypes(reader) if reader is not None else self._written
        self._logical_types = logical_types
        # By full name; at most one for each message of the schema.
        self._reading: dict[str, tuple[Any, Shape]] = {}
        self._writing = message or schema.record_name
        self._writer: tuple[Any, Shape, bytes] | None = None
        if message is not None and self._written.indexes(message) is None:
            raise InvalidSchema(f"The schema has no message {message}.")

    def decode(self, payload: bytes) -> object:
        message, shape = self.message_of(payload)
        return shape.value_of(message)

    def message_of(self, payload: bytes) -> tuple[Any, Shape]:
        """The message itself. Raises :class:`DoesNotDecode`."""
        if len(payload) > DATA_BYTES_MAX:
            raise DoesNotDecode(f"the message has {len(payload)} bytes, and the limit is {DATA_BYTES_MAX}")
        try:
            indexes, data = read_indexes(payload)
        except NotFramed as error:
            raise DoesNotDecode(str(error).rstrip(".")) from None
        full_name = self._written.full_name(indexes)
        if full_name is None:
            raise DoesNotDecode(f"the schema has no message at the position {list(indexes)}")
        return self._parsed(full_name, data)

    def decode_bare(self, data: bytes) -> tuple[object, int]:
        """A message without indexes: the one that ``message`` names, or the first of the schema.
        The number is that of its own fields that the schema does not have: many of them mean that
        another schema wrote the bytes. Raises :class:`DoesNotDecode`."""
        from google.protobuf.unknown_fields import UnknownFieldSet

        if len(data) > DATA_BYTES_MAX:
            raise DoesNotDecode(f"the message has {len(data)} bytes, and the limit is {DATA_BYTES_MAX}")
        if self._writing is None:
            raise DoesNotDecode("the schema has no message")
        message, shape = self._parsed(self._writing, data)
        return shape.value_of(message), len(UnknownFieldSet(message))

    def _parsed(self, full_name: str, data: bytes) -> tuple[Any, Shape]:
        from google.protobuf.message import DecodeError

        type_, shape = self._reader_of(full_name)
        message = type_()
        try:
            message.ParseFromString(data)
        except DecodeError:
            raise DoesNotDecode(f"the bytes are no message {full_name}") from None
        if not message.IsInitialized():
            raise DoesNotDecode(f"required fields are missing: {', '.join(message.FindInitializationErrors())}")
        return message, shape

    def _reader_of(self, full_name: str) -> tuple[Any, Shape]:
        known = self._reading.get(full_name)
        if known is None:
            type_ = self._read.message_class(full_name)
            if type_ is None:
                raise DoesNotDecode(f"the reader's schema has no message {full_name}")
            known = self._reading[full_name] = type_, shape_of(type_.DESCRIPTOR, logical_types=self._logical_types)
        return known

    def _writer_of(self, full_name: str) -> tuple[Any, Shape, bytes]:
        """Made once: descriptors are slow to ask."""
        if self._writer is None:
            type_, indexes = self._written.message_class(full_name), self._written.indexes(full_name)
            assert type_ is not None
            assert indexes is not None
            self._writer = type_, shape_of(type_.DESCRIPTOR, logical_types=self._logical_types), write_indexes(indexes)
        return self._writer

    def encode(self, value: object) -> bytes:
        from google.protobuf.message import EncodeError

        if self._writing is None:
            raise DoesNotEncode("the schema has no message")
        type_, shape, indexes = self._writer_of(self._writing)
        message = type_()
        shape.fill(message, value)
        try:
            return indexes + bytes(message.SerializeToString(deterministic=True))
        except EncodeError as error:
            raise DoesNotEncode(str(error)) from None
