"""JSON Schemas in memory: each a node of one shape, with references resolved.

JSON Schema has no types, only constraints, so a schema first becomes the shape that it describes:
an object, an array, a text. A schema that describes several at once is a :class:`Combination` of
them. A recursive schema is a cycle of nodes; nodes compare by identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias


class NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault()


@dataclass(frozen=True, slots=True)
class Annotations:
    """What describes a schema and accepts or refuses no value."""

    id: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any = NO_DEFAULT
    connect_type: str | None = None
    """The type that Kafka Connect's JSON converter notes for itself."""
    format: str | None = None
    """What a text means, such as ``date-time``; it need not be valid."""

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT


NO_ANNOTATIONS: Final = Annotations()


@dataclass(eq=False, slots=True)
class Anything:
    """``true``, ``{}``, or annotations only."""

    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Nothing:
    """``false``."""

    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Boolean:
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Null:
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Text:
    limits: Mapping[str, Any] = field(default_factory=dict)
    """``minLength``, ``maxLength`` and ``pattern``, as far as they are set."""
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Number:
    limits: Mapping[str, Any] = field(default_factory=dict)
    """``minimum``, ``maximum``, their exclusive twins, and ``multipleOf``."""
    integer: bool = False
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Enumeration:
    values: Sequence[Any] = ()
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Constant:
    value: Any = None
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Combination:
    criterion: str
    """``allOf``, ``anyOf`` or ``oneOf``."""
    parts: Sequence[Node] = ()
    distinct: Sequence[Node] = ()
    """The parts, those that repeat another one word for word left out."""
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Negation:
    inner: Node | None = None
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Conditional:
    """``if`` with ``then`` and ``else``, which no registry compares."""

    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Object:
    properties: dict[str, Node] = field(default_factory=dict)
    patterns: dict[str, Node] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    permits_more: bool = True
    """False for ``additionalProperties: false``."""
    more: Node | None = None
    """The schema of additional properties."""
    unevaluated: Node | None = None
    needed_with: dict[str, frozenset[str]] = field(default_factory=dict)
    """The properties that each property needs beside it."""
    schema_with: dict[str, Node] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(eq=False, slots=True)
class Array:
    every_item: Node | None = None
    items: Sequence[Node] = ()
    """The schemas of the first items, one each."""
    permits_more: bool = True
    more: Node | None = None
    unevaluated: Node | None = None
    unique: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)
    annotations: Annotations = NO_ANNOTATIONS


Node: TypeAlias = (
    Anything | Nothing | Boolean | Null | Text | Number | Enumeration | Constant | Combination | Negation | Conditional | Object | Array
)
