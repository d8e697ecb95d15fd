"""From JSON to Avro types.

Names, namespaces, defaults and symbols are checked as Java's Avro checks them. Types of references
are parsed first, and are known by their full names then. A *stored* schema passed the checks of the
registry that stored it, which may have had fewer: its names and defaults are taken as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from barnabas.schemas.avro.defaults import why_no_default
from barnabas.schemas.avro.model import (
    NO_DEFAULT,
    PRIMITIVES,
    Array,
    AvroType,
    Enumeration,
    Field,
    Fixed,
    Map,
    Name,
    NamedType,
    Primitive,
    Record,
    Union,
)
from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.json_text import read_json
from barnabas.schemas.limits import DEPTH_MAX, FIXED_BYTES_MAX, TYPES_MAX

_SIMPLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ORDERS: Final = frozenset({"ascending", "descending", "ignore"})
_OF_RECORD: Final = frozenset({"type", "name", "namespace", "doc", "fields", "aliases"})
_OF_ENUM: Final = frozenset({"type", "name", "namespace", "doc", "symbols", "default", "aliases"})
_OF_FIXED: Final = frozenset({"type", "name", "namespace", "doc", "size", "aliases"})
_OF_FIELD: Final = frozenset({"name", "type", "doc", "default", "order", "aliases"})


def parse(text: str, known: Mapping[str, NamedType] | None = None, *, stored: bool = False) -> tuple[AvroType, Mapping[str, NamedType]]:
    """The type, and all named types by full name: those of ``known`` (the referenced schemas) and
    those that the text defines. Raises :class:`InvalidSchema`.
    """
    parser = _Parser(dict(known or {}), checks_names=not stored)
    try:
        read = read_json(text, stored=stored) if text.lstrip()[:1] in ("{", "[", '"') else text.strip()
        return parser.type_of(read, namespace="", path="", depth=0), parser.named
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None


class _Parser:
    def __init__(self, named: dict[str, NamedType], *, checks_names: bool) -> None:
        """Defaults and sizes are checked together with names."""
        self.named = named
        self._checks_names = checks_names
        self._types = 0

    def type_of(self, read: Any, *, namespace: str, path: str, depth: int) -> AvroType:
        self._types += 1
        if self._types > TYPES_MAX:
            raise SchemaTooComplex(f"The schema has more than {TYPES_MAX} types and fields.")
        if depth > DEPTH_MAX:
            raise SchemaTooComplex(f"Types stand in each other more than {DEPTH_MAX} deep, at {path}.")
        match read:
            case str():
                return self._by_name(read, namespace, path)
            case list():
                return self._union(read, namespace=namespace, path=path, depth=depth)
            case dict():
                return self._object(read, namespace=namespace, path=path, depth=depth)
        raise InvalidSchema(f"A type is a name, a list or an object; {_at(path)} is {read!r}.")

    def _by_name(self, text: str, namespace: str, path: str) -> AvroType:
        if text in PRIMITIVES:
            return Primitive(text)
        found = self.named.get(self._name(text, namespace, path).full) or self.named.get(text)
        if found is None:
            raise InvalidSchema(f"Undefined name: {text!r} {_at(path)} names no type.")
        return found

    def _union(self, read: list[Any], *, namespace: str, path: str, depth: int) -> Union:
        branches = [self.type_of(each, namespace=namespace, path=f"{path}/{index}", depth=depth + 1) for index, each in enumerate(read)]
        seen = set()
        for branch in branches:
            if isinstance(branch, Union):
                raise InvalidSchema(f"A union may not contain a union, {_at(path)}.")
            key = branch.name.full if isinstance(branch, Fixed | Enumeration | Record) else branch.kind
            if key in seen:
                raise InvalidSchema(f"Duplicate in union: {key!r} stands twice {_at(path)}.")
            seen.add(key)
        return Union(branches)

    def _object(self, read: dict[str, Any], *, namespace: str, path: str, depth: int) -> AvroType:
        kind = read.get("type")
        if isinstance(kind, dict | list):
            # Java takes {"type": {...}} for the inner type, properties of the outer one ignored.
            return self.type_of(kind, namespace=namespace, path=f"{path}/type", depth=depth + 1)
        if not isinstance(kind, str):
            raise InvalidSchema(f"No type: the object {_at(path)} has no field 'type'.")
        match kind:
            case "record" | "error":
                return self._record(read, namespace=namespace, path=path, depth=depth)
            case "enum":
                return self._enumeration(read, namespace=namespace, path=path)
            case "fixed":
                return self._fixed(read, namespace=namespace, path=path)
            case "array":
                items = self.type_of(_required(read, "items", path), namespace=namespace, path=f"{path}/items", depth=depth + 1)
                return Array(items, _rest(read, frozenset({"type", "items"})))
            case "map":
                values = self.type_of(_required(read, "values", path), namespace=namespace, path=f"{path}/values", depth=depth + 1)
                return Map(values, _rest(read, frozenset({"type", "values"})))
        if kind in PRIMITIVES:
            return Primitive(kind, _rest(read, frozenset({"type"})))
        return self._by_name(kind, namespace, f"{path}/type")

    def _record(self, read: dict[str, Any], *, namespace: str, path: str, depth: int) -> Record:
        name, aliases = self._defined(read, namespace, path)
        record = Record(name, (), aliases, _text(read, "doc"), read["type"] == "error", _rest(read, _OF_RECORD))
        # Known before its fields are read: they may name the record itself.
        self.named[name.full] = record
        declared = _required(read, "fields", path)
        if not isinstance(declared, list):
            raise InvalidSchema(f"The fields of {name.full} are no list.")
        fields: dict[str, Field] = {}
        for index, each in enumerate(declared):
            field = self._field(each, namespace=name.namespace, path=f"{path}/fields/{index}", depth=depth)
            if field.name in fields:
                raise InvalidSchema(f"Duplicate field {field.name} in record {name.full}.")
            fields[field.name] = field
        record.fields = tuple(fields.values())
        return record

    def _field(self, read: Any, *, namespace: str, path: str, depth: int) -> Field:
        if not isinstance(read, dict):
            raise InvalidSchema(f"A field is an object; {_at(path)} is {read!r}.")
        name = read.get("name")
        if not isinstance(name, str) or not self._is_simple(name):
            raise InvalidSchema(f"Illegal field name {name!r} {_at(path)}.")
        type_ = self.type_of(_required(read, "type", path), namespace=namespace, path=f"{path}/type", depth=depth + 1)
        default = read.get("default", NO_DEFAULT)
        if self._checks_names and default is not NO_DEFAULT and (reason := why_no_default(type_, default)) is not None:
            raise InvalidSchema(f"Invalid default for field {name}: {reason}.")
        order = read.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise InvalidSchema(f"The order of field {name} is ascending, descending or ignore, and not {order!r}.")
        return Field(name, type_, default, _texts(read, "aliases", path), order.lower(), _text(read, "doc"), _rest(read, _OF_FIELD))

    def _enumeration(self, read: dict[str, Any], *, namespace: str, path: str) -> Enumeration:
        name, aliases = self._defined(read, namespace, path)
        symbols = _texts(read, "symbols", path, needed=True)
        for symbol in symbols:
            if not self._is_simple(symbol):
                raise InvalidSchema(f"Illegal symbol {symbol!r} in enum {name.full}.")
        if len(set(symbols)) < len(symbols):
            raise InvalidSchema(f"A symbol of enum {name.full} stands twice.")
        default = read.get("default")
        if default is not None and default not in symbols:
            raise InvalidSchema(f"The default {default!r} of enum {name.full} is none of its symbols.")
        found = Enumeration(name, symbols, default, aliases, _text(read, "doc"), _rest(read, _OF_ENUM))
        self.named[name.full] = found
        return found

    def _fixed(self, read: dict[str, Any], *, namespace: str, path: str) -> Fixed:
        name, aliases = self._defined(read, namespace, path)
        size = read.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise InvalidSchema(f"The size of fixed {name.full} is a number of bytes, and not {size!r}.")
        if self._checks_names and size > FIXED_BYTES_MAX:
            raise InvalidSchema(f"The size of fixed {name.full} is {size}; the limit is {FIXED_BYTES_MAX}.")
        found = Fixed(name, size, aliases, _text(read, "doc"), _rest(read, _OF_FIXED))
        self.named[name.full] = found
        return found

    def _defined(self, read: dict[str, Any], namespace: str, path: str) -> tuple[Name, Sequence[Name]]:
        given = read.get("name")
        if not isinstance(given, str):
            raise InvalidSchema(f"No name: the {read['type']} {_at(path)} has no name.")
        own = read.get("namespace", namespace)
        if not isinstance(own, str):
            raise InvalidSchema(f"The namespace of {given} is a text, and not {own!r}.")
        name = self._name(given, own, path)
        if name.full in PRIMITIVES:
            raise InvalidSchema(f"{name.full} is the name of a primitive type, {_at(path)}.")
        if name.full in self.named:
            raise InvalidSchema(f"Can't redefine: {name.full}.")
        aliases = tuple(self._name(alias, name.namespace, path) for alias in _texts(read, "aliases", path))
        return name, aliases

    def _name(self, text: str, namespace: str, path: str) -> Name:
        simple = text
        if "." in text:
            namespace, _, simple = text.rpartition(".")
        if not self._is_simple(simple) or not all(self._is_simple(part) for part in namespace.split(".") if namespace):
            raise InvalidSchema(f"Illegal name {text!r} {_at(path)}.")
        return Name(simple, namespace)

    def _is_simple(self, name: str) -> bool:
        return not self._checks_names or _SIMPLE_NAME.match(name) is not None


def _required(read: dict[str, Any], key: str, path: str) -> Any:
    if key not in read:
        raise InvalidSchema(f"The {read.get('type', 'field')} {_at(path)} has no '{key}'.")
    return read[key]


def _text(read: dict[str, Any], key: str) -> str | None:
    found = read.get(key)
    return found if isinstance(found, str) else None


def _texts(read: dict[str, Any], key: str, path: str, *, needed: bool = False) -> tuple[str, ...]:
    found = _required(read, key, path) if needed else read.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidSchema(f"The {key} {_at(path)} are no list of texts.")
    return tuple(found)


def _rest(read: dict[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in read.items() if key not in reserved}


def _at(path: str) -> str:
    return f"at {path}" if path else "at the top"
