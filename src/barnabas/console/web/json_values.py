"""Answers as JSON, and their types as JSON Schema.

An answer is a tree of dataclasses, lists, mappings, enums and plain values. Fields whose names
begin with an underscore, and those that are marked ``metadata={"page_only": True}``, are for
templates alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

_PLAIN: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    type(None): {"type": "null"},
}


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in _shown(type(value))}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value]


def json_bytes(value: Any) -> bytes:
    # Records may hold halves of surrogate pairs, which JSON has an escape for and UTF-8 has not.
    return json.dumps(plain(value), ensure_ascii=True, separators=(",", ":")).encode("ascii")


def schema_of(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    """``known`` gets a schema for each dataclass, by its name; the schema of a field refers to
    it."""
    if isinstance(kind, NewType):
        return schema_of(kind.__supertype__, known)
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, known) for each in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if dataclasses.is_dataclass(origin) and isinstance(origin, type):
        return _reference(origin, known, arguments)
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1], known)}
    if origin is not None and arguments:
        return {"type": "array", "items": schema_of(arguments[0], known)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _reference(kind, known, ())
    return {}


def _reference(kind: type, known: dict[str, Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """``arguments`` are those of a generic type: a page of topics is another schema than one of
    groups."""
    name = kind.__name__ + "".join(f"Of{each.__name__}" for each in arguments)
    if name not in known:
        known[name] = {}  # A type may refer to itself.
        values = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=False))
        hints = {field: _substituted(hint, values) for field, hint in get_type_hints(kind).items()}
        properties = {each.name: schema_of(hints[each.name], known) for each in _shown(kind)}
        described = {"description": " ".join(kind.__doc__.split())} if kind.__doc__ and not kind.__doc__.startswith(kind.__name__) else {}
        known[name] = {"type": "object", **described, "properties": properties, "required": list(properties)}
    return {"$ref": f"#/components/schemas/{name}"}


def _substituted(hint: Any, values: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return values.get(hint, Any)
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(values.get(each, Any) for each in parameters)] if parameters else hint


def _shown(kind: Any) -> list[dataclasses.Field[Any]]:
    return [each for each in dataclasses.fields(kind) if not each.name.startswith("_") and not each.metadata.get("page_only")]
