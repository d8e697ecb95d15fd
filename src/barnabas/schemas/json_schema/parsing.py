"""From JSON to nodes.

References lead into the same document, or into documents that the registry knows by name. Nothing
is ever fetched: a ``$ref`` to a file or a URL that no reference names is an invalid schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.json_schema.model import (
    NO_DEFAULT,
    Annotations,
    Anything,
    Array,
    Boolean,
    Combination,
    Conditional,
    Constant,
    Enumeration,
    Negation,
    Node,
    Nothing,
    Null,
    Number,
    Object,
    Text,
)
from barnabas.schemas.limits import DEPTH_MAX, TYPES_MAX

_TEXT_LIMITS: Final = ("minLength", "maxLength", "pattern")
_NUMBER_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_OBJECT_LIMITS: Final = ("minProperties", "maxProperties")
_ARRAY_LIMITS: Final = ("minItems", "maxItems", "minContains", "maxContains")
_OBJECT_KEYWORDS: Final = (
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "required",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    *_OBJECT_LIMITS,
)
_ARRAY_KEYWORDS: Final = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "uniqueItems", "contains", *_ARRAY_LIMITS)
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "null", "object", "array"})
# How many references may follow each other before they count as a circle.
_REFERENCES_MAX: Final = 100


def nodes_of(schema: Any, known: Mapping[str, Any] | None = None) -> Node:
    """The node of a whole document. ``known`` are the referenced documents by name."""
    try:
        return _Reader(schema, known or {}).node(schema, base="", path="#", depth=0)
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None


def resolver_of(schema: Any, known: Mapping[str, Any]) -> Callable[[str, str], tuple[str, Any]]:
    """A function from a ``$ref`` and the address of its document to the schema that it names, with
    the address of that one. It raises :class:`InvalidSchema`."""
    return _Reader(schema, known).resolve


class _Reader:
    def __init__(self, root: Any, known: Mapping[str, Any]) -> None:
        # The documents by address; the empty address is the schema itself.
        self._documents: dict[str, Any] = {"": root, **known}
        self._anchors: dict[str, tuple[str, Any]] = {}
        self._nodes: dict[int, Node] = {}
        self._numbers: dict[int, int] = {}
        # Keeps the values alive that the ids above belong to.
        self._kept: list[Any] = []
        for address, document in list(self._documents.items()):
            self._find_ids(document, address, depth=0)

    # -- references --------------------------------------------------------------------------------

    def _find_ids(self, value: Any, base: str, depth: int) -> None:
        """Remember every schema that names itself with an ``$id`` or an anchor."""
        if depth > DEPTH_MAX * 2:
            raise SchemaTooComplex("The schema is nested too deeply.")
        if isinstance(value, list):
            for each in value:
                self._find_ids(each, base, depth + 1)
        elif isinstance(value, dict):
            own = value.get("$id", value.get("id"))
            if isinstance(own, str):
                address, fragment = urldefrag(urljoin(base, own))
                self._anchors.setdefault(f"{address}#{fragment}" if fragment else address, (address, value))
                base = address
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(value.get(keyword), str):
                    self._anchors.setdefault(f"{base}#{value[keyword]}", (base, value))
            for key, each in value.items():
                if key not in ("enum", "const", "default", "examples"):
                    self._find_ids(each, base, depth + 1)

    def resolve(self, reference: str, base: str) -> tuple[str, Any]:
        """The schema that a ``$ref`` names, with the address of its document."""
        for target in (urljoin(base, reference), reference):
            address, fragment = urldefrag(target)
            if target in self._anchors:
                return self._anchors[target]
            home = self._documents.get(address, self._anchors.get(address, ("", None))[1])
            if home is not None or address in self._documents:
                found = _at_pointer(home, unquote(fragment))
                if found is not None:
                    return address, found
            if not address and not base and fragment:
                found = _at_pointer(self._documents[""], unquote(fragment))
                if found is not None:
                    return "", found
        raise InvalidSchema(f"The reference {reference!r} names no schema; references to files and URLs are never fetched.")

    def _number(self, value: Any) -> int:
        """A number that equal values share. Each part of a document is looked at once, so that
        schemas in schemas in schemas take no more time than their text is long."""
        if not isinstance(value, dict | list):
            return hash((type(value), value))
        known = self._numbers.get(id(value))
        if known is None:
            if isinstance(value, dict):
                known = hash(frozenset((key, self._number(each)) for key, each in value.items()))
            else:
                known = hash(tuple(map(self._number, value)))
            self._numbers[id(value)] = known
            self._kept.append(value)
        return known

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, schema: Any, *, base: str, path: str, depth: int) -> Node:
        if schema is True:
            return Anything()
        if schema is False:
            return Nothing()
        if not isinstance(schema, dict):
            raise InvalidSchema(f"A schema is an object or a boolean; {path} is {schema!r}.")
        if depth > DEPTH_MAX:
            raise SchemaTooComplex(f"Schemas stand in each other more than {DEPTH_MAX} deep, at {path}.")
        known = self._nodes.get(id(schema))
        if known is not None:
            return known
        if len(self._nodes) >= TYPES_MAX:
            raise SchemaTooComplex(f"The schema has more than {TYPES_MAX} parts.")
        self._kept.append(schema)
        own = schema.get("$id")
        if isinstance(own, str) and path != "#":
            base = urldefrag(urljoin(base, own))[0]
        if "$ref" in schema:
            return self._referred(schema, base=base, path=path, depth=depth)
        return self._described(schema, base=base, path=path, depth=depth)

    def _referred(self, schema: dict[str, Any], *, base: str, path: str, depth: int) -> Node:
        target: Any = schema
        for _ in range(_REFERENCES_MAX):
            reference = target["$ref"]
            if not isinstance(reference, str):
                raise InvalidSchema(f"A $ref is a text; {path} has {reference!r}.")
            base, target = self.resolve(reference, base)
            if not isinstance(target, dict) or "$ref" not in target:
                found = self.node(target, base=base, path=path, depth=depth + 1)
                self._nodes[id(schema)] = found
                return found
        raise InvalidSchema(f"The references at {path} lead in a circle.")

    def _described(self, schema: dict[str, Any], *, base: str, path: str, depth: int) -> Node:
        """A node for each thing that the schema describes, and a combination if there are several.

        The node is remembered before its parts are read, since they may refer to it.
        """
        shapes = _shapes(schema, path)
        if not shapes:
            node: Node = Anything(_annotations(schema))
            self._nodes[id(schema)] = node
            return node
        if len(shapes) == 1:
            node = _empty(shapes[0], schema, _annotations(schema))
            self._nodes[id(schema)] = node
            self._fill(node, schema, base=base, path=path, depth=depth)
            return node
        # `type: [a, b]` accepts either; everything else must hold together.
        parts = [_empty(shape, schema, Annotations()) for shape in shapes]
        node = Combination("allOf", parts, parts, _annotations(schema))
        self._nodes[id(schema)] = node
        for part in parts:
            self._fill(part, schema, base=base, path=path, depth=depth)
        return node

    def _fill(self, node: Node, schema: dict[str, Any], *, base: str, path: str, depth: int) -> None:
        def inner(value: Any, *keys: str) -> Node:
            return self.node(value, base=base, path="/".join((path, *keys)), depth=depth + 1)

        match node:
            case Combination(criterion="type"):
                node.criterion = "anyOf"
                node.parts = [inner({**_without_combinations(schema), "type": each}, "type") for each in schema["type"]]
                node.distinct = node.parts
            case Combination(criterion=criterion):
                listed = _list(schema, criterion, path)
                node.parts = [inner(each, criterion, str(index)) for index, each in enumerate(listed)]
                # Equal texts have equal numbers; the last part of each number stays.
                node.distinct = list({self._number(each): part for each, part in zip(listed, node.parts, strict=True)}.values())
            case Negation():
                node.inner = inner(schema["not"], "not")
            case Object():
                self._fill_object(node, schema, inner, path)
            case Array():
                self._fill_array(node, schema, inner, path)

    def _fill_object(self, node: Object, schema: dict[str, Any], inner: Any, path: str) -> None:
        for keyword, target in (("properties", node.properties), ("patternProperties", node.patterns)):
            for name, value in _mapping(schema, keyword, path).items():
                target[name] = inner(value, keyword, name)
        node.required = frozenset(each for each in _list(schema, "required", path) if isinstance(each, str))
        more = schema.get("additionalProperties", True)
        node.permits_more = more is not False
        node.more = inner(more, "additionalProperties") if isinstance(more, dict) else None
        if "unevaluatedProperties" in schema:
            node.unevaluated = inner(schema["unevaluatedProperties"], "unevaluatedProperties")
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            for name, value in _mapping(schema, keyword, path).items():
                if isinstance(value, list):
                    node.needed_with[name] = frozenset(map(str, value))
                else:
                    node.schema_with[name] = inner(value, keyword, name)

    def _fill_array(self, node: Array, schema: dict[str, Any], inner: Any, path: str) -> None:
        items, first = schema.get("items"), schema.get("prefixItems")
        more = schema.get("additionalItems", True)
        if isinstance(first, list):
            # Draft 2020-12 has `prefixItems` for the first items, and `items` for those after them.
            node.items = [inner(each, "prefixItems", str(index)) for index, each in enumerate(first)]
            more = schema.get("items", True)
        elif isinstance(items, list):
            node.items = [inner(each, "items", str(index)) for index, each in enumerate(items)]
        elif items is False:
            more = False  # No item at all, which is what draft 2020-12 means by it.
        elif items is not None:
            node.every_item = inner(items, "items")
        node.permits_more = more is not False
        node.more = inner(more, "additionalItems") if isinstance(more, dict) else None
        if "unevaluatedItems" in schema:
            node.unevaluated = inner(schema["unevaluatedItems"], "unevaluatedItems")


def _shapes(schema: dict[str, Any], path: str) -> list[str]:
    found: list[str] = [keyword for keyword in ("enum", "allOf", "anyOf", "oneOf", "not", "const") if keyword in schema]
    if "if" in schema:
        found.append("if")
    kind = schema.get("type")
    if isinstance(kind, list):
        if len(kind) == 1:
            kind = kind[0]
        else:
            return [*found, "types"]
    if isinstance(kind, str):
        if kind not in _TYPES:
            raise InvalidSchema(f"There is no type {kind!r}, at {path}.")
        return [*found, kind]
    if kind is not None:
        raise InvalidSchema(f"A type is a text or a list of texts; {path} has {kind!r}.")
    families = {"string": _TEXT_LIMITS, "number": _NUMBER_LIMITS, "object": _OBJECT_KEYWORDS, "array": _ARRAY_KEYWORDS}
    return [*found, *(family for family, keywords in families.items() if any(keyword in schema for keyword in keywords))]


def _empty(shape: str, schema: dict[str, Any], annotations: Annotations) -> Node:
    """The node of a shape, without its inner schemas."""
    match shape:
        case "enum":
            return Enumeration(tuple(schema["enum"]) if isinstance(schema["enum"], list) else (), annotations)
        case "const":
            return Constant(schema["const"], annotations)
        case "allOf" | "anyOf" | "oneOf":
            return Combination(shape, annotations=annotations)
        case "types":
            return Combination("type", annotations=annotations)
        case "not":
            return Negation(None, annotations)
        case "if":
            return Conditional(annotations)
        case "string":
            return Text(_limits(schema, _TEXT_LIMITS), annotations)
        case "number" | "integer":
            return Number(_limits(schema, _NUMBER_LIMITS), shape == "integer", annotations)
        case "boolean":
            return Boolean(annotations)
        case "null":
            return Null(annotations)
        case "object":
            return Object(limits=_limits(schema, _OBJECT_LIMITS), annotations=annotations)
    return Array(unique=schema.get("uniqueItems") is True, limits=_limits(schema, _ARRAY_LIMITS), annotations=annotations)


def _limits(schema: dict[str, Any], keywords: tuple[str, ...]) -> dict[str, Any]:
    # Draft 4 has booleans for exclusive limits, which change the meaning of the others.
    return {keyword: schema[keyword] for keyword in keywords if keyword in schema and not isinstance(schema[keyword], bool)}


def _without_combinations(schema: dict[str, Any]) -> dict[str, Any]:
    left_out = ("enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "title", "description", "default", "$id", "id")
    return {key: value for key, value in schema.items() if key not in left_out}


def _annotations(schema: dict[str, Any]) -> Annotations:
    def text(*keys: str) -> str | None:
        return next((schema[key] for key in keys if isinstance(schema.get(key), str)), None)

    about = text("$id", "id"), text("title"), text("description"), schema.get("default", NO_DEFAULT), text("connect.type"), text("format")
    return Annotations(*about)


def _list(schema: dict[str, Any], keyword: str, path: str) -> list[Any]:
    found = schema.get(keyword, [])
    if not isinstance(found, list):
        raise InvalidSchema(f"The {keyword} at {path} is no list.")
    return found


def _mapping(schema: dict[str, Any], keyword: str, path: str) -> dict[str, Any]:
    found = schema.get(keyword, {})
    if not isinstance(found, dict):
        raise InvalidSchema(f"The {keyword} at {path} is no object.")
    return found


def _at_pointer(document: Any, pointer: str) -> Any:
    if not pointer:
        return document
    if not pointer.startswith("/"):
        return None
    found = document
    for part in pointer[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found
