"""The JSON Schema of a type, in draft 7.

Objects are closed: a field may be added to a closed object later, and to an open one not. Times are
texts in ISO 8601, decimals texts, bytes texts in base64, and an enum is its values.
"""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.serdes.python_types.pydantic_models import is_model, model_json_schema
from barnabas.schemas.serdes.python_types.shapes import (
    NO_DEFAULT,
    Anything,
    Choice,
    Enumeration,
    Items,
    JsonType,
    Record,
    RecordField,
    Scalar,
    Shape,
    Values,
)
from barnabas.schemas.serdes.python_types.to_values import Form, to_values

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_TYPES: Final[dict[type, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    time: {"type": "string"},  # The format "time" demands a zone.
    timedelta: {"type": "number"},
    Decimal: {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"},
    UUID: {"type": "string", "format": "uuid"},
}


def json_schema_of(shape: Shape) -> str:
    """The text of the schema. Raises :class:`InvalidSchema`."""
    if isinstance(shape, Record) and is_model(shape.type):
        return json.dumps(model_json_schema(shape.type))
    return json.dumps(_Writer(shape).document())


class _Writer:
    def __init__(self, root: Shape) -> None:
        self._root = root
        self._definitions: dict[str, Any] = {}
        self._types: dict[str, type] = {}

    def document(self) -> dict[str, Any]:
        root = self._root
        schema = self._object(root) if isinstance(root, Record) else self._schema(root)
        title = {"title": root.type.__name__} if isinstance(root, Record | Enumeration) else {}
        definitions = {"definitions": self._definitions} if self._definitions else {}
        return {"$schema": _DRAFT, **title, **schema, **definitions}

    def _schema(self, shape: Shape) -> dict[str, Any]:
        match shape:
            case Scalar(type=type_, marks=marks):
                added = next((mark.keywords for mark in marks if isinstance(mark, JsonType)), {})
                return {**_TYPES[type_], **added}
            case Enumeration(type=type_):
                return {"enum": [each.value for each in type_]}
            case Items(item=item):
                return {"type": "array", "items": self._schema(item)}
            case Values(value=value):
                return {"type": "object", "additionalProperties": self._schema(value)}
            case Choice(branches=branches):
                return {"oneOf": [self._schema(each) for each in branches]}
            case Anything():
                return {}
            case Record():
                return self._reference(shape)

    def _reference(self, shape: Record) -> dict[str, Any]:
        if shape is self._root:
            return {"$ref": "#"}
        known = self._types.setdefault(shape.name, shape.type)
        if known is not shape.type:
            raise InvalidSchema(f"Two types have the name {shape.name}.")
        if shape.name not in self._definitions:
            # Known before its properties: they may be of the same type.
            definition = self._definitions[shape.name] = {}
            definition |= self._object(shape)
        return {"$ref": f"#/definitions/{shape.name}"}

    def _object(self, shape: Record) -> dict[str, Any]:
        required = [each.name for each in shape.fields if each.is_required]
        return {
            "type": "object",
            "properties": {each.name: self._property(each) for each in shape.fields},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def _property(self, field: RecordField) -> dict[str, Any]:
        schema = self._schema(field.shape)
        if field.default is NO_DEFAULT or "$ref" in schema:
            return schema  # Draft 7 ignores everything beside a $ref.
        return {**schema, "default": to_values(field.shape, Form.JSON)(field.default)}
