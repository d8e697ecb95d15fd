"""Avro types in memory, with names resolved.

A record refers to the types of its fields directly, so a recursive schema is a cycle of objects.
Types compare by identity; :mod:`.compatibility` compares their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


class NoDefault:
    """The default of a field that has none; null is a default."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault()


@dataclass(frozen=True, slots=True)
class Name:
    """A full name; the namespace is empty for a name without one."""

    simple: str
    namespace: str = ""

    @property
    def full(self) -> str:
        return f"{self.namespace}.{self.simple}" if self.namespace else self.simple

    def within(self, namespace: str) -> str:
        """The shortest name that means this one inside ``namespace``."""
        return self.simple if not self.namespace or self.namespace == namespace else self.full


@dataclass(eq=False, slots=True)
class Primitive:
    kind: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Array:
    items: AvroType
    properties: Mapping[str, Any] = field(default_factory=dict)
    kind = "array"


@dataclass(eq=False, slots=True)
class Map:
    values: AvroType
    properties: Mapping[str, Any] = field(default_factory=dict)
    kind = "map"


@dataclass(eq=False, slots=True)
class Union:
    branches: Sequence[AvroType]
    kind = "union"


@dataclass(eq=False, slots=True)
class Fixed:
    name: Name
    size: int
    aliases: Sequence[Name] = ()
    doc: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    kind = "fixed"


@dataclass(eq=False, slots=True)
class Enumeration:
    name: Name
    symbols: Sequence[str]
    default: str | None = None
    aliases: Sequence[Name] = ()
    doc: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    kind = "enum"


@dataclass(eq=False, slots=True)
class Field:
    name: str
    type: AvroType
    default: Any = NO_DEFAULT
    aliases: Sequence[str] = ()
    order: str = "ascending"
    doc: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT


@dataclass(eq=False, slots=True)
class Record:
    name: Name
    fields: Sequence[Field] = ()
    aliases: Sequence[Name] = ()
    doc: str | None = None
    is_error: bool = False
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "error" if self.is_error else "record"


NamedType: TypeAlias = Fixed | Enumeration | Record
AvroType: TypeAlias = Primitive | Array | Map | Union | NamedType
