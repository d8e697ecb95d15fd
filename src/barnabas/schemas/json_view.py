"""Data of a schema as JSON that people read and write: of commands, of consoles.

=============  ====================================================================================
Avro           the fields as they are; times and decimals as texts; bytes as texts of characters up
               to U+00FF, as Avro's own JSON has them. A union is the value alone; when JSON is
               read, ``{"name of the branch": value}`` works too, as Avro's own JSON has it.
JSON Schema    the document
Protobuf       Protobuf's own JSON: numbers of 64 bits as texts, bytes in base64
=============  ====================================================================================

Invariant: the JSON that is shown reads as the same data.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema


class JsonView(Protocol):
    def show(self, payload: bytes) -> object:
        """The data as values that JSON has. Raises
        :class:`~barnabas.schemas.errors.DoesNotDecode`."""

    def read(self, value: object) -> bytes:
        """The payload. Raises :class:`~barnabas.schemas.errors.DoesNotEncode`."""


def json_view_of(parsed: ParsedSchema, *, message: str | None = None) -> JsonView:
    """``message`` is the full name of the Protobuf message to write; the first if not given.
    Raises :class:`~barnabas.schemas.errors.InvalidSchema`."""
    match parsed:
        case AvroSchema():
            from barnabas.schemas.avro.json_view import AvroJsonView

            return AvroJsonView(parsed)
        case JsonSchema():
            from barnabas.schemas.json_schema.codec import JsonCodec

            return _Documents(JsonCodec(parsed))
        case ProtobufSchema():
            from barnabas.schemas.protobuf.json_view import ProtobufJsonView

            return ProtobufJsonView(parsed, message)
    raise AssertionError(f"no JSON of {parsed}")


class _Codec(Protocol):
    def decode(self, payload: bytes) -> object: ...

    def encode(self, value: object) -> bytes: ...


class _Documents:
    def __init__(self, codec: _Codec) -> None:
        self._codec = codec

    def show(self, payload: bytes) -> object:
        return self._codec.decode(payload)

    def read(self, value: object) -> bytes:
        return self._codec.encode(value)
