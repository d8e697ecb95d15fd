"""What a Python type is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias


class NoDefault:
    """The default of a field that has none; None is a default."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault()


@dataclass(frozen=True, slots=True)
class AvroType:
    """In ``Annotated[int, AvroType("int")]``: the Avro type to use instead of the usual one."""

    schema: Any


@dataclass(frozen=True, slots=True)
class JsonType:
    """In ``Annotated[str, JsonType({"maxLength": 5})]``: keywords to add to the usual schema."""

    keywords: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(tuple(self.keywords))


@dataclass(frozen=True, slots=True)
class Digits:
    """In ``Annotated[Decimal, Digits(12, 2)]``: all digits, and those after the point."""

    precision: int
    scale: int


@dataclass(eq=False, slots=True)
class Scalar:
    """``str``, ``int``, ``float``, ``bool``, ``bytes``, ``None``, or a type that stands for data:
    ``datetime``, ``date``, ``time``, ``timedelta``, ``Decimal``, ``UUID``."""

    type: type
    marks: tuple[object, ...] = ()


@dataclass(eq=False, slots=True)
class Enumeration:
    type: type[Enum]


@dataclass(eq=False, slots=True)
class Items:
    item: Shape
    make: Callable[[Iterator[Any]], Any] = list
    """From the items to the object: list, tuple, set or frozenset."""


@dataclass(eq=False, slots=True)
class Values:
    """A dict with texts as keys."""

    value: Shape


@dataclass(eq=False, slots=True)
class Choice:
    branches: tuple[Shape, ...]


@dataclass(eq=False, slots=True)
class Anything:
    """``Any`` and ``object``."""


@dataclass(eq=False, slots=True)
class RecordField:
    name: str
    """Of the attribute."""
    key: str
    """By which the type takes the value when it is made."""
    shape: Shape
    default: Any = NO_DEFAULT
    """NO_DEFAULT too if it is not the same for every object."""
    is_required: bool = True


@dataclass(eq=False, slots=True)
class Record:
    """A dataclass, a Pydantic model or a TypedDict."""

    type: type
    make: Callable[[dict[str, Any]], Any]
    read: Callable[[Any, str], Any] = getattr
    fields: list[RecordField] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.type.__name__


Shape: TypeAlias = Scalar | Enumeration | Items | Values | Choice | Anything | Record
