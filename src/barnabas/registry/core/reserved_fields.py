"""Reserved fields: names in the property ``confluent:reserved`` of a schema's metadata. No field at
the top of the schema may have such a name, so that a later version can use it.

They count where the setting ``validateFields`` is on. A version keeps the reserved names of the
version before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.scope import config_in_scope
from barnabas.registry.core.state import RegistryState
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.model import Record
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema

if TYPE_CHECKING:
    from barnabas.registry.core.registering import Registration

RESERVED: Final = "confluent:reserved"


def reserved_conflicts(state: RegistryState, parsed: ParsedSchemas, subject: str, wanted: Registration) -> list[str]:
    """Why the schema breaks a reservation; empty if it does not."""
    if config_in_scope(state, subject).get("validateFields") is not True:
        return []
    latest, reserved = state.latest(subject), _reserved(wanted.metadata)
    gone = sorted(_reserved(latest.metadata) - reserved) if latest is not None else []
    found = [f"{{errorType:'RESERVED_FIELD_REMOVED', description:'The new schema has reserved field {name} removed'}}" for name in gone]
    if reserved:
        used = reserved & _top_fields(parsed.parse(wanted.type, wanted.text, wanted.references, subject, stored=True))
        found += [
            f"{{errorType:'FIELD_CONFLICTS_WITH_RESERVED_FIELD', description:'The field {name} is reserved'}}" for name in sorted(used)
        ]
    return found


def _reserved(metadata: Mapping[str, Any] | None) -> set[str]:
    text = str(((metadata or {}).get("properties") or {}).get(RESERVED, ""))
    return {name.strip() for name in text.split(",") if name.strip()}


def _top_fields(schema: ParsedSchema) -> set[str]:
    match schema:
        case AvroSchema(root=Record(fields=fields)):
            return {field.name for field in fields}
        case JsonSchema(value={"properties": dict(properties)}):
            return set(properties)
        case ProtobufSchema(file=file) if file.messages:
            return {field.name for field in file.messages[0].fields.values()}
    return set()
