"""Schemas in another form than the stored one, as ``format=`` asks for it.

``serialized`` is the descriptor of a Protobuf file in base64, which Python's deserializer wants.
``resolved`` is an Avro schema with the types of its references inside. Any other format, and any
other type of schema, gives the stored text.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.service import RegistryService
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema


async def formatted(service: RegistryService, entry: SchemaEntry, name: str) -> SchemaEntry:
    if name not in ("serialized", "resolved"):
        return entry
    parsed = await service.think(lambda parsed: parsed.stored(entry))
    if name == "serialized" and isinstance(parsed, ProtobufSchema):
        return replace(entry, text=parsed.serialized())
    if name == "resolved" and isinstance(parsed, AvroSchema):
        return replace(entry, text=parsed.resolved)
    return entry
