"""The work of Spark's tasks, as it is sent to the executors. Nothing heavy is imported here: a
pipeline without a registry imports it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from barnabas.schemas.schema import ParsedSchema, Reference, ResolvedReference, SchemaType

if TYPE_CHECKING:
    from barnabas.registry_client import RegisteredSchema, RegistrySettings


class SchemaText(NamedTuple):
    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    resolved: tuple[ResolvedReference, ...] = ()

    @classmethod
    def of(cls, found: RegisteredSchema) -> SchemaText:
        return cls(found.type, found.text, found.references, found.resolved)

    def parsed(self) -> ParsedSchema:
        """Raises ``InvalidSchema``. A registry checks new schemas more strictly than this."""
        from barnabas.schemas.parsing import parse_schema

        return parse_schema(self.type, self.text, self.resolved, stored=True)


@dataclass(frozen=True, slots=True)
class DecodingPlan:
    registry: RegistrySettings
    retry_ms: int  # how long a task asks a registry that does not answer
    reader: SchemaText
    record: str | None  # the Protobuf message


@dataclass(frozen=True, slots=True)
class EncodingPlan:
    registry: RegistrySettings
    retry_ms: int  # how long a task asks a registry that does not answer
    schema: SchemaText
    schema_id: int
    record: str | None  # the Protobuf message
    topic: str  # whose subject has the schema already
    subject: str | None  # declared: it counts for every topic
    strategy: str
    register: bool
