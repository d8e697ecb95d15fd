"""What serdes need of a registry. :class:`~barnabas.registry_client.RegistryClient` gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from barnabas.schemas.schema import ParsedSchema, Reference, ResolvedReference, SchemaType


class Registered(Protocol):
    """A schema as a registry has it."""

    @property
    def type(self) -> SchemaType: ...

    @property
    def id(self) -> int | None: ...

    @property
    def guid(self) -> UUID | None: ...

    @property
    def version(self) -> int | None: ...

    @property
    def parsed(self) -> ParsedSchema: ...


class Registry(Protocol):
    """Remembers what it was asked, so that serdes may ask for every record."""

    def schema_by_id(self, schema_id: int) -> Registered: ...

    def schema_by_guid(self, guid: UUID) -> Registered: ...

    def latest(self, subject: str) -> Registered: ...

    def register(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, normalize: bool = False
    ) -> Registered: ...

    def lookup(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, normalize: bool = False
    ) -> Registered: ...

    def resolve(self, references: Sequence[Reference]) -> Sequence[ResolvedReference]: ...

    def associated_subject(self, topic: str, *, is_key: bool, namespace: str = "-") -> str | None: ...
