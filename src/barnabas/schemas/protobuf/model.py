"""A ``.proto`` file in memory: its messages and enums, with the names of types resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

# The number of bytes and the meaning of a value depend only on its group (and so do Protobuf's own
# rules for changing the type of a field).
SCALAR_GROUPS: Final = {
    "int32": "number",
    "int64": "number",
    "uint32": "number",
    "uint64": "number",
    "bool": "number",
    "sint32": "signed number",
    "sint64": "signed number",
    "string": "text",
    "bytes": "text",
    "fixed32": "fixed32",
    "sfixed32": "fixed32",
    "fixed64": "fixed64",
    "sfixed64": "fixed64",
    "float": "float",
    "double": "double",
}


@dataclass(frozen=True, slots=True)
class Scalar:
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """A message or an enum, by its full name."""

    full_name: str


@dataclass(frozen=True, slots=True)
class MapOf:
    key: Scalar
    value: FieldType


FieldType: TypeAlias = Scalar | Named | MapOf


@dataclass(frozen=True, slots=True)
class MessageField:
    name: str
    number: int
    type: FieldType
    label: str | None = None
    """``optional``, ``required`` or ``repeated``, if the file says so."""
    oneof: str | None = None
    is_group: bool = False
    """Whether the message stands between two tags, as groups of proto2 do."""


@dataclass(eq=False, slots=True)
class EnumType:
    name: str
    full_name: str
    values: dict[int, str] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class MessageType:
    name: str
    full_name: str
    package: str
    fields: dict[int, MessageField] = field(default_factory=dict)
    oneofs: list[str] = field(default_factory=list)
    messages: list[MessageType] = field(default_factory=list)
    enums: list[EnumType] = field(default_factory=list)

    @property
    def local_name(self) -> str:
        """The name within its package."""
        return self.full_name[len(self.package) + 1 :] if self.package else self.full_name


@dataclass(eq=False, slots=True)
class ProtoFile:
    package: str
    syntax: str
    imports: Sequence[str] = ()
    messages: list[MessageType] = field(default_factory=list)
    enums: list[EnumType] = field(default_factory=list)
    types: dict[str, MessageType | EnumType] = field(default_factory=dict)
    """By full name: its own types and those of the files that it imports."""
