"""The schema that a program brings along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, Reference, SchemaType
from barnabas.schemas.serdes.registry_port import Registry


@dataclass(frozen=True, slots=True)
class SchemaText:
    type: SchemaType
    text: str
    parsed: ParsedSchema
    references: Callable[[], Sequence[Reference]] = tuple
    """Asked when the schema is registered: others may have to be registered first."""

    @classmethod
    def of(cls, registry: Registry, type_: SchemaType, text: str, references: Sequence[Reference] = ()) -> SchemaText:
        """The registry gives the texts behind the references. Raises
        :class:`~barnabas.schemas.errors.InvalidSchema`."""
        resolved = registry.resolve(references) if references else ()
        return cls(type_, text, parse_schema(type_, text, resolved), lambda: references)
