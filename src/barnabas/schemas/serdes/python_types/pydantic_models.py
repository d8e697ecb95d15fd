"""Pydantic models. Pydantic is not required: a program that has models has it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from barnabas.schemas.serdes.python_types.shapes import NO_DEFAULT

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


class ModelField(NamedTuple):
    name: str
    key: str
    annotation: Any
    metadata: tuple[object, ...]
    default: Any
    factory: Any
    is_required: bool


def is_model(type_: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(type_, pydantic.BaseModel)


def model_fields(type_: Any) -> Iterator[ModelField]:
    for name, field in type_.model_fields.items():
        alias = field.validation_alias if isinstance(field.validation_alias, str) else None
        required = field.is_required()
        factory = field.default_factory
        if field.default_factory_takes_validated_data:
            factory = object  # It depends on other fields, so there is no one default.
        default = NO_DEFAULT if required else field.default
        yield ModelField(name, alias or name, field.annotation, tuple(field.metadata), default, factory, required)


def model_json_schema(type_: Any) -> dict[str, Any]:
    """Pydantic's own schema of a model. Objects without extra properties are closed, because a
    field may be added to a closed object later, and to an open one not."""
    schema: dict[str, Any] = type_.model_json_schema(mode="serialization", by_alias=True)
    for each in (schema, *schema.get("$defs", {}).values()):
        if "properties" in each:
            each.setdefault("additionalProperties", False)
    return {"$schema": _DRAFT, **schema}
