"""The normal form of an Avro schema: full names, and everything sorted that may stand in any order.

It resembles the parsing canonical form of the specification, but keeps what readers use: defaults,
aliases, documentation, logical types and other properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Field, Fixed, Map, NamedType, Primitive, Record, Union
from barnabas.schemas.json_text import write_json


def normal_text(type_: AvroType, referenced: Iterable[str] = ()) -> str:
    return write_json(_NormalForm(set(referenced)).value(type_))


class _NormalForm:
    def __init__(self, defined: set[str]) -> None:
        self._defined = defined

    def value(self, type_: AvroType) -> Any:
        match type_:
            case Primitive(kind=kind, properties=properties):
                return {"type": kind, **_sorted(properties)} if properties else kind
            case Array(items=items, properties=properties):
                return {"type": "array", "items": self.value(items), **_sorted(properties)}
            case Map(values=values, properties=properties):
                return {"type": "map", "values": self.value(values), **_sorted(properties)}
            case Union(branches=branches):
                return [self.value(branch) for branch in branches]
            case Fixed() | Enumeration() | Record():
                return self._named(type_)

    def _named(self, type_: NamedType) -> Any:
        full = type_.name.full
        if full in self._defined:
            return full
        self._defined.add(full)
        printed: dict[str, Any] = {"name": full, "type": "record" if isinstance(type_, Record) else type_.kind}
        match type_:
            case Record(fields=fields):
                printed["fields"] = [self._field(each) for each in fields]
            case Enumeration(symbols=symbols):
                printed["symbols"] = list(symbols)
            case Fixed(size=size):
                printed["size"] = size
        properties = _sorted(type_.properties)
        # A logical type stands before the other properties, with its parameters.
        for key in ("logicalType", "precision", "scale"):
            if key in properties:
                printed[key] = properties.pop(key)
        if type_.doc:
            printed["doc"] = type_.doc
        if type_.aliases:
            printed["aliases"] = sorted(alias.full for alias in type_.aliases)
        if isinstance(type_, Enumeration) and type_.default is not None:
            printed["default"] = type_.default
        return printed | properties

    def _field(self, field: Field) -> dict[str, Any]:
        printed: dict[str, Any] = {"name": field.name, "type": self.value(field.type), "order": field.order.upper()}
        if field.doc is not None:
            printed["doc"] = field.doc
        if field.aliases:
            printed["aliases"] = sorted(field.aliases)
        if field.has_default:
            printed["default"] = field.default
        return printed | _sorted(field.properties)


def _sorted(properties: Mapping[str, Any]) -> dict[str, Any]:
    """A logical type first, then the rest by name."""
    first = {key: properties[key] for key in ("logicalType", "precision", "scale") if key in properties}
    return first | {key: properties[key] for key in sorted(properties) if key not in first}
