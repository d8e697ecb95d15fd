"""A parsed Protobuf schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from barnabas.schemas.difference import Difference, type_changed
from barnabas.schemas.protobuf.comparison import COMPATIBLE, changes_between
from barnabas.schemas.protobuf.descriptor_text import text_of
from barnabas.schemas.protobuf.descriptors import encoded_descriptor
from barnabas.schemas.protobuf.model import ProtoFile
from barnabas.schemas.protobuf.parsing import file_of, read_elements, resolver
from barnabas.schemas.protobuf.printing import printed
from barnabas.schemas.schema import ParsedSchema, Policy, ResolvedReference, SchemaType
from barnabas.schemas.steps import Steps


@dataclass(frozen=True)
class ProtobufSchema:
    elements: Any
    """The syntax tree of the text."""
    file: ProtoFile
    known: Mapping[str, ProtoFile] = field(default_factory=dict)
    """The referenced files by the names under which they are imported."""

    type = SchemaType.PROTOBUF

    @classmethod
    def parse(cls, text: str, references: Sequence[ResolvedReference] = ()) -> ProtobufSchema:
        known: dict[str, ProtoFile] = {}
        for reference in references:
            known[reference.name] = file_of(read_elements(reference.text), known)
        elements = read_elements(_readable(text))
        return cls(elements, file_of(elements, known), known)

    @cached_property
    def canonical(self) -> str:
        return printed(self.elements)

    @cached_property
    def normalized(self) -> str:
        return printed(self.elements, resolve=resolver(self.file))

    def unreadable(self, older: ParsedSchema, policy: Policy = Policy.STRICT, steps: Steps | None = None) -> list[Difference]:
        if not isinstance(older, ProtobufSchema):
            return [type_changed(older.type, self.type)]
        return [
            Difference(change.kind, f"#/{'/'.join(change.path)}", "older readers or older data would break")
            for change in changes_between(older.file, self.file, steps)
            if change.kind not in COMPATIBLE
        ]

    def serialized(self, name: str = "default") -> str:
        """Base64 of the descriptor, for clients that want no text."""
        return encoded_descriptor(self.file, name)

    @property
    def record_name(self) -> str | None:
        return self.file.messages[0].full_name if self.file.messages else None


def is_descriptor(text: str) -> bool:
    """Whether a schema is sent as a descriptor in base64 and not as text. No ``.proto`` file is
    such a text: base64 has no semicolon and no brace."""
    return not any(character in text for character in ";{")


def _readable(text: str) -> str:
    return (text_of(text) if is_descriptor(text) else None) or text
