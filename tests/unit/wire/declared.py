"""Every message that the wire package declares, and values for any version of it.

Three values are fixed (:func:`bare`, :func:`full`, :func:`hollow`) so that every test meets tagged
fields set and unset, nulls, and arrays of two; :func:`messages` adds random values.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from hypothesis import strategies as st

import barnabas.wire
from barnabas.wire.declare import ArrayOf, Field, FieldType, StructOf, declaration_of
from barnabas.wire.types import Primitive

Primitives = Callable[[type[Any], Field, Primitive], st.SearchStrategy[Any]]


class Versioned(NamedTuple):
    """One message in one version; most tests here run once for each."""

    cls: type[Any]
    version: int

    def __str__(self) -> str:
        return f"{self.cls.__name__}-v{self.version}"


@lru_cache(maxsize=1)
def declared_messages() -> tuple[type[Any], ...]:
    found: list[type[Any]] = []
    for module_info in pkgutil.walk_packages(barnabas.wire.__path__, "barnabas.wire."):
        module = importlib.import_module(module_info.name)
        own = (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)
        found += [each for each in own if hasattr(each, "__declaration__") and declaration_of(each).kind != "struct"]
    return tuple(found)


def every_version(*kinds: str) -> list[Versioned]:
    """Every version of the messages of these kinds, or of all."""
    return [
        Versioned(cls, version)
        for cls in declared_messages()
        for version in declaration_of(cls).versions.all()
        if not kinds or declaration_of(cls).kind in kinds
    ]


def present_fields(cls: type[Any], version: int) -> Iterator[Field]:
    return (each for each in declaration_of(cls).fields if version in each.options.versions)


def struct_inside(kind: FieldType) -> type[Any] | None:
    """The struct that a field holds, alone or in an array."""
    inner = kind.element if isinstance(kind, ArrayOf) else kind
    return inner.cls if isinstance(inner, StructOf) else None


def bare(cls: type[Any], version: int) -> Any:
    """All defaults: no tagged field is written."""
    return cls()


def hollow(cls: type[Any], version: int) -> Any:
    """Null wherever null is allowed, also in tagged fields with another default; empty arrays."""

    def value(each: Field) -> Any:
        if version in each.options.nullable:
            return None
        if isinstance(each.type, StructOf):
            return hollow(each.type.cls, version)
        return [] if isinstance(each.type, ArrayOf) else each.default()

    return cls(**{each.name: value(each) for each in present_fields(cls, version)})


def full(cls: type[Any], version: int) -> Any:
    """Every field set to a value other than its default, every array of two elements, no value
    twice in a row.
    """
    numbers = count(1)

    def value(kind: FieldType) -> Any:
        number = next(numbers)
        match kind:
            case ArrayOf(element):
                return [value(element), value(element)]
            case StructOf(inner):
                return build(inner)
            case Primitive(name="bool"):
                return True
            case Primitive(name="float64"):
                return number + 0.25
            case Primitive(name="uuid"):
                return number.to_bytes(16, "big")
            case Primitive(name="string"):
                # Some are longer than 127 bytes, where compact lengths need a second byte.
                return f"text {number} \N{SNOWMAN}" * (20 if number % 7 == 0 else 1)
            case Primitive(name="bytes" | "records"):
                return f"bytes {number}".encode() * (20 if number % 7 == 0 else 1)
            case Primitive(name="int8" | "int16"):
                # Small enough to be a known error code.
                return number % 100 + 20
            case _:
                return number + 1000

    def build(inner: type[Any]) -> Any:
        made = {}
        for each in present_fields(inner, version):
            made[each.name] = value(each.type)
            if each.type == Primitive("bool", "?", 1, False):
                made[each.name] = not each.default()
        return inner(**made)

    return build(cls)


_INTEGERS = {
    name: st.integers(lowest, highest)
    for name, lowest, highest in (
        ("int8", -(2**7), 2**7 - 1),
        ("int16", -(2**15), 2**15 - 1),
        ("uint16", 0, 2**16 - 1),
        ("int32", -(2**31), 2**31 - 1),
        ("uint32", 0, 2**32 - 1),
        ("int64", -(2**63), 2**63 - 1),
    )
}
_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    **_INTEGERS,
    "bool": st.booleans(),
    # NaN is not equal to itself, and Kafka's JSON cannot express infinity.
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": st.one_of(st.text(max_size=8), st.sampled_from(["a" * 127, "b" * 128, "\N{SNOWMAN}" * 100])),
    "bytes": st.one_of(st.binary(max_size=8), st.sampled_from([bytes(126), bytes(127), bytes(20_000)])),
    "records": st.binary(max_size=8),
}


def any_primitive(cls: type[Any], field: Field, kind: Primitive) -> st.SearchStrategy[Any]:
    return _PRIMITIVES[kind.name]


def messages(cls: type[Any], version: int, primitives: Primitives = any_primitive) -> st.SearchStrategy[Any]:
    """Any value of ``cls`` in ``version``; ``primitives`` may narrow the values of a field."""
    parts = {}
    for each in present_fields(cls, version):
        values = _values(cls, each, each.type, version, primitives)
        if version in each.options.nullable:
            values = st.none() | values
        if version in each.options.tagged and each.options.default is not None:
            values = st.just(each.default()) | values
        parts[each.name] = values
    return st.builds(cls, **parts)


def _values(cls: type[Any], field: Field, kind: FieldType, version: int, primitives: Primitives) -> st.SearchStrategy[Any]:
    match kind:
        case ArrayOf(element):
            return st.lists(_values(cls, field, element, version, primitives), max_size=3)
        case StructOf(inner):
            return messages(inner, version, primitives)
        case Primitive():
            return primitives(cls, field, kind)
