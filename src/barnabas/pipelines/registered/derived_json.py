"""A JSON Schema for the columns of a sink that has none of its own.

Objects are closed (``additionalProperties: false``), because a registry refuses a new property of
an open object: older records may have that name with any value. Nothing is required, and everything
may be null, so a later version may add columns; it may not remove them, because a closed object
refuses older records that have them. Decimals are texts, since a number of JSON would lose digits;
bytes are texts in base64.
"""

from __future__ import annotations

import json
from typing import Any, Final

from barnabas.pipelines.column_types import Array, ColumnType, Decimal, Map, Scalar, Struct
from barnabas.pipelines.errors import CannotRun

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "void": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int": {"type": "integer"},
    "bigint": {"type": "integer"},
    "float": {"type": "number"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "date": {"type": "string", "format": "date"},
    "timestamp": {"type": "string", "format": "date-time"},
    "timestamp_ntz": {"type": "string"},
}


def json_schema_of(columns: Struct, title: str) -> str:
    return json.dumps({"$schema": DRAFT, "title": title, **_object(columns)})


def _object(struct: Struct) -> dict[str, Any]:
    properties = {name: {"oneOf": [{"type": "null"}, _type(kind)]} for name, kind in struct.fields}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _type(kind: ColumnType) -> dict[str, Any]:
    match kind:
        case Scalar(name):
            return _SCALARS[name]
        case Decimal(precision, scale):
            return {"type": "string", "format": f"decimal({precision},{scale})"}
        case Array(element):
            return {"type": "array", "items": {"oneOf": [{"type": "null"}, _type(element)]}}
        case Map(key, value):
            if key != Scalar("string"):
                raise CannotRun("JSON's objects have names of text; turn the keys of the map into texts.")
            return {"type": "object", "additionalProperties": {"oneOf": [{"type": "null"}, _type(value)]}}
        case Struct():
            return _object(kind)
