"""The canonical text of an Avro schema: what registries store and compare.

It is the compact JSON that Java's Avro prints, byte for byte: the first use of a named type is its
definition, later ones are its name; names are as short as the enclosing namespace allows. Types of
references are names from the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Field, Fixed, Map, NamedType, Primitive, Record, Union
from barnabas.schemas.json_text import write_json


def canonical_text(type_: AvroType, referenced: Iterable[str] = ()) -> str:
    """``referenced`` are the full names of types that other schemas define."""
    return write_json(_Printer(set(referenced)).value(type_, ""))


class _Printer:
    def __init__(self, defined: set[str]) -> None:
        self._defined = defined

    def value(self, type_: AvroType, namespace: str) -> Any:
        match type_:
            case Primitive(kind=kind, properties=properties):
                return {"type": kind, **properties} if properties else kind
            case Array(items=items, properties=properties):
                return {"type": "array", "items": self.value(items, namespace), **properties}
            case Map(values=values, properties=properties):
                return {"type": "map", "values": self.value(values, namespace), **properties}
            case Union(branches=branches):
                return [self.value(branch, namespace) for branch in branches]
            case Fixed() | Enumeration() | Record():
                return self._named(type_, namespace)

    def _named(self, type_: NamedType, namespace: str) -> Any:
        name = type_.name
        if name.full in self._defined:
            return name.within(namespace)
        self._defined.add(name.full)
        printed: dict[str, Any] = {"type": type_.kind, "name": name.simple}
        if name.namespace != namespace:
            printed["namespace"] = name.namespace
        if type_.doc is not None:
            printed["doc"] = type_.doc
        match type_:
            case Record(fields=fields):
                printed["fields"] = [self._field(each, name.namespace) for each in fields]
            case Enumeration(symbols=symbols, default=default):
                printed["symbols"] = list(symbols)
                if default is not None:
                    printed["default"] = default
            case Fixed(size=size):
                printed["size"] = size
        printed.update(type_.properties)
        if type_.aliases:
            printed["aliases"] = [alias.within(name.namespace) for alias in type_.aliases]
        return printed

    def _field(self, field: Field, namespace: str) -> dict[str, Any]:
        printed: dict[str, Any] = {"name": field.name, "type": self.value(field.type, namespace)}
        if field.doc is not None:
            printed["doc"] = field.doc
        if field.has_default:
            printed["default"] = field.default
        if field.order != "ascending":
            printed["order"] = field.order
        if field.aliases:
            printed["aliases"] = list(field.aliases)
        return printed | dict(field.properties)
