"""Schemas in another form than the stored one, as ``format=`` asks for it.

``serialized`` is the descriptor of a Protobuf file in base64, which Python's deserializer wants.
``resolved`` is an Avro schema with the types of its references inside, for callers that may
describe them all. Any other format, and any other type of schema, gives the stored text.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.http import Call
from barnabas.registry.service import RegistryService
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema, SchemaType


async def formatted(service: RegistryService, call: Call, entry: SchemaEntry) -> SchemaEntry:
    """Raises a RegistryError for a schema that cannot be parsed, or whose references the caller may
    not see."""

    def parse(parsed: ParsedSchemas) -> ParsedSchema:
        return parsed.seen_by(call.may_describe).parse(entry.type, entry.text, entry.references, entry.subject, stored=True)

    match call.text("format"), entry.type:
        case "serialized", SchemaType.PROTOBUF:
            # The descriptor names the imported types and does not contain them.
            file = await service.think(lambda parsed: parsed.stored(entry))
            assert isinstance(file, ProtobufSchema)
            return replace(entry, text=file.serialized())
        case "resolved", SchemaType.AVRO:
            schema = await service.think(parse)
            assert isinstance(schema, AvroSchema)
            return replace(entry, text=schema.resolved)
    return entry
