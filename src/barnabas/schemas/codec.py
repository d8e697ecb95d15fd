"""Between bytes and values: a codec of a schema of any format.

A *payload* is what follows the id of the schema (:mod:`.framing`). The *value* of a payload is made
of dicts, lists, texts, numbers, bytes, booleans and None. With ``logical_types`` also of what the
schema means: ``datetime``, ``date``, ``time``, ``Decimal`` and ``UUID`` for Avro's logical types,
``datetime`` and ``timedelta`` for Protobuf's ``Timestamp`` and ``Duration``. Without them a value
has only what the bytes have, so every valid payload decodes.

A *reader's schema* is the one that the caller knows; values come in its shape, whichever schema
wrote them: Avro resolves the two, Protobuf reads the bytes with the message of the same name, and
for JSON Schema the document must be valid by the reader's schema too.

Invariants: bytes from outside raise :class:`DoesNotDecode` and nothing else, within the limits of
:mod:`.limits`; bytes after the end of the data are an error.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema


class Codec(Protocol):
    """May be used by several threads at once."""

    def decode(self, payload: bytes) -> object:
        """Raises :class:`~barnabas.schemas.errors.DoesNotDecode`."""

    def encode(self, value: object) -> bytes:
        """Raises :class:`~barnabas.schemas.errors.DoesNotEncode`."""


def codec_of(parsed: ParsedSchema, reader: ParsedSchema | None = None, *, logical_types: bool = True, message: str | None = None) -> Codec:
    """The codec of the schema ``parsed``, which writes; ``reader`` is the reader's schema.

    ``message`` is the full name of the Protobuf message to encode; the first of the file if not
    given. Payloads name their message themselves. Raises :class:`InvalidSchema` if the schema
    cannot be used, or the reader's is of another type.
    """
    if reader is not None and reader.type is not parsed.type:
        raise InvalidSchema(f"A schema of type {reader.type.value} cannot read data of type {parsed.type.value}.")
    # Imported here: a program that uses one format need not load the libraries of the others.
    match parsed:
        case AvroSchema():
            from barnabas.schemas.avro.codec import AvroCodec

            assert reader is None or isinstance(reader, AvroSchema)
            return AvroCodec(parsed, reader, logical_types=logical_types)
        case JsonSchema():
            from barnabas.schemas.json_schema.codec import JsonCodec

            assert reader is None or isinstance(reader, JsonSchema)
            return JsonCodec(parsed, reader)
        case ProtobufSchema():
            from barnabas.schemas.protobuf.codec import ProtobufCodec

            assert reader is None or isinstance(reader, ProtobufSchema)
            return ProtobufCodec(parsed, reader, logical_types=logical_types, message=message)
    raise AssertionError(f"no codec of {parsed}")
