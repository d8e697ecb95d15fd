"""A parsed Avro schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from barnabas.schemas.avro.compatibility import differences
from barnabas.schemas.avro.model import AvroType, Enumeration, Fixed, NamedType, Record
from barnabas.schemas.avro.normal_form import normal_text
from barnabas.schemas.avro.parsing import parse
from barnabas.schemas.avro.printing import canonical_text
from barnabas.schemas.difference import Difference, type_changed
from barnabas.schemas.schema import ParsedSchema, Policy, ResolvedReference, SchemaType
from barnabas.schemas.steps import Steps


@dataclass(frozen=True)
class AvroSchema:
    root: AvroType
    referenced: frozenset[str]
    """The full names of the types that other schemas define."""

    type = SchemaType.AVRO

    @classmethod
    def parse(cls, text: str, references: Sequence[ResolvedReference] = (), *, stored: bool = False) -> AvroSchema:
        known: dict[str, NamedType] = {}
        for reference in references:
            known |= parse(reference.text, known, stored=True)[1]
        root, _ = parse(text, known, stored=stored)
        return cls(root, frozenset(known))

    @cached_property
    def canonical(self) -> str:
        return canonical_text(self.root, self.referenced)

    @cached_property
    def resolved(self) -> str:
        """The canonical text with the types of the references written out."""
        return canonical_text(self.root)

    @cached_property
    def normalized(self) -> str:
        return normal_text(self.root, self.referenced)

    def unreadable(self, older: ParsedSchema, policy: Policy = Policy.STRICT, steps: Steps | None = None) -> list[Difference]:
        if not isinstance(older, AvroSchema):
            return [type_changed(older.type, self.type)]
        return differences(self.root, older.root, steps)

    @property
    def record_name(self) -> str | None:
        return self.root.name.full if isinstance(self.root, Record | Enumeration | Fixed) else None
