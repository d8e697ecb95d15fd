"""Columns, and the difference between two lists of them. Pure: a schema is the JSON value that
Spark makes of it.

Fields of structs are columns of their own here (``place.city``), so that a new field of a struct is
an addition and not a new type of the whole struct. Structs inside arrays and maps are part of their
type. Names are compared exactly: a column that is renamed from ``qty`` to ``Qty`` counts as a
removed and a new one, which errs on the side of stopping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

# Spark's own JSON of a StructType: {"type": "struct", "fields": [{"name": ..., "type": ...,
# "nullable": ...}]}.
Struct: TypeAlias = Mapping[str, Any]


# A longer list is not read to its end.
DESCRIBED_MAX = 8


@dataclass(frozen=True, slots=True)
class Column:
    name: str  # with the names of the structs around it, separated by dots
    type: str
    required: bool = False  # for fields of records: every sampled record had it


@dataclass(frozen=True, slots=True)
class Removed:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Retyped:
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Added:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Loosened:
    """A field that every record had, and that some lack now."""

    name: str


SchemaChange: TypeAlias = Removed | Retyped | Added | Loosened


def columns(schema: Struct, prefix: str = "") -> tuple[Column, ...]:
    return tuple(_columns(schema, prefix))


def changes(before: Struct, after: Struct) -> tuple[SchemaChange, ...]:
    """Removed columns first, then retyped, loosened and added ones, each in the order of the
    columns."""
    old = {each.name: each for each in columns(before)}
    new = {each.name: each for each in columns(after)}
    return (
        *(Removed(each.name, each.type) for each in old.values() if each.name not in new),
        *(Retyped(name, old[name].type, each.type) for name, each in new.items() if name in old and old[name].type != each.type),
        *(Loosened(name) for name, each in new.items() if name in old and old[name].required and not each.required),
        *(Added(each.name, each.type) for each in new.values() if each.name not in old),
    )


def breaking(found: Iterable[SchemaChange]) -> tuple[SchemaChange, ...]:
    """The changes that would turn values into nulls: all but additions."""
    return tuple(each for each in found if not isinstance(each, Added))


def describe(found: Sequence[SchemaChange]) -> str:
    """``'qty' (bigint) is missing, 'quantity' (bigint) is new``."""
    described = [_describe(each) for each in found[:DESCRIBED_MAX]]
    return ", ".join(described) + (f" and {len(found) - DESCRIBED_MAX} more changes" if len(found) > DESCRIBED_MAX else "")


def ddl(schema: Struct) -> str:
    """Spark can read it back, whatever characters the names have."""
    return ", ".join(f"{_quoted(each['name'])} {type_text(each['type'], quoted=True)}{_not_null(each)}" for each in schema["fields"])


def type_text(kind: Any, *, quoted: bool = False) -> str:
    """``kind`` is the type of a field in Spark's JSON: a name, or a mapping for arrays, maps and
    structs."""
    if isinstance(kind, str):
        # Spark writes integer in JSON and int everywhere else.
        return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(kind, kind)
    match kind["type"]:
        case "array":
            return f"array<{type_text(kind['elementType'], quoted=quoted)}>"
        case "map":
            return f"map<{type_text(kind['keyType'], quoted=quoted)},{type_text(kind['valueType'], quoted=quoted)}>"
        case "struct":
            fields = (
                f"{_quoted(each['name']) if quoted else each['name']}:{type_text(each['type'], quoted=quoted)}"
                f"{_not_null(each) if quoted else ''}"
                for each in kind["fields"]
            )
            return f"struct<{','.join(fields)}>"
    raise AssertionError(kind)


def is_struct(kind: Any) -> bool:
    return isinstance(kind, Mapping) and kind["type"] == "struct"


def _columns(schema: Struct, prefix: str) -> Iterator[Column]:
    for field in schema["fields"]:
        name = prefix + field["name"]
        if is_struct(field["type"]):
            yield Column(name, "struct", not field["nullable"])
            yield from _columns(field["type"], f"{name}.")
        else:
            yield Column(name, type_text(field["type"]), not field["nullable"])


def _describe(change: SchemaChange) -> str:
    match change:
        case Removed(name, kind):
            return f"{name!r} ({kind}) is missing"
        case Retyped(name, before, after):
            return f"{name!r} is {after} and was {before}"
        case Loosened(name):
            return f"{name!r} is missing in some records"
        case Added(name, kind):
            return f"{name!r} ({kind}) is new"
    assert_never(change)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _not_null(field: Struct) -> str:
    return "" if field["nullable"] else " NOT NULL"
