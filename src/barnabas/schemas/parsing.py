"""From a schema of any type to its parsed form."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema, ResolvedReference, SchemaType


def parse_schema(type_: SchemaType, text: str, references: Sequence[ResolvedReference] = (), *, stored: bool = False) -> ParsedSchema:
    """``references`` come in the order in which they depend on each other: each after those that it
    uses. A ``stored`` schema comes from a registry, and is read even where a new one would be
    refused: older registries accepted more names, defaults and numbers. Raises
    :class:`~barnabas.schemas.errors.InvalidSchema`.
    """
    match type_:
        case SchemaType.AVRO:
            return AvroSchema.parse(text, references, stored=stored)
        case SchemaType.JSON:
            return JsonSchema.parse(text, references, stored=stored)
        case SchemaType.PROTOBUF:
            return ProtobufSchema.parse(text, references)
