"""JSON Schema for dataclasses, Pydantic models, and dicts.

A document is checked by the schema that wrote it. The type that reads it is the second check:
fields that it does not know are ignored, and missing ones get its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack, cast, overload

from barnabas.schemas.json_schema.codec import JsonCodec
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.schema import ParsedSchema, Reference, SchemaType
from barnabas.schemas.serdes.deserializer import Decode, Deserializer, through
from barnabas.schemas.serdes.python_types.from_values import from_values
from barnabas.schemas.serdes.python_types.json_types import json_schema_of
from barnabas.schemas.serdes.python_types.reading_types import shape_of
from barnabas.schemas.serdes.python_types.to_values import Form, to_values
from barnabas.schemas.serdes.registry_port import Registry
from barnabas.schemas.serdes.serializer import Serializer, SerializerOptions, WriteOptions
from barnabas.schemas.serdes.written_schema import SchemaText

T = TypeVar("T")


class JsonSerializer(Serializer[T]):
    @overload
    def __init__(
        self: JsonSerializer[T],
        registry: Registry,
        type_: type[T],
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
        **options: Unpack[SerializerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: JsonSerializer[Any],
        registry: Registry,
        type_: None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
        **options: Unpack[SerializerOptions],
    ) -> None: ...

    def __init__(
        self,
        registry: Registry,
        type_: type[T] | None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
        **options: Unpack[SerializerOptions],
    ) -> None:
        """``type_`` gives the schema, unless ``schema`` does; without a type, objects are what
        JSON has. Raises :class:`~barnabas.schemas.errors.InvalidSchema`."""
        written = WriteOptions(**options)
        shape = shape_of(type_) if type_ is not None else None
        if schema is None and shape is not None and not written.use_latest and written.schema_id is None:
            schema = json_schema_of(shape)
        text = SchemaText.of(registry, SchemaType.JSON, schema, references) if schema is not None else None
        convert: Callable[[T], object] = to_values(shape, Form.JSON) if shape is not None else _as_it_is
        super().__init__(registry, SchemaType.JSON, text, convert, lambda parsed: JsonCodec(_json(parsed)), written)


class JsonDeserializer(Deserializer[T]):
    @overload
    def __init__(
        self: JsonDeserializer[T], registry: Registry, type_: type[T], *, schema: str | None = None, references: Sequence[Reference] = ()
    ) -> None: ...

    @overload
    def __init__(
        self: JsonDeserializer[Any],
        registry: Registry,
        type_: None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
    ) -> None: ...

    def __init__(
        self, registry: Registry, type_: type[T] | None = None, *, schema: str | None = None, references: Sequence[Reference] = ()
    ) -> None:
        """With ``schema``, documents must be valid by that one, too. Without a type, objects are
        what JSON has. Raises :class:`~barnabas.schemas.errors.InvalidSchema`."""
        shape = shape_of(type_) if type_ is not None else None
        reader = SchemaText.of(registry, SchemaType.JSON, schema, references) if schema is not None else None
        make = cast("Callable[[object], T]", from_values(shape, Form.JSON) if shape is not None else _as_it_is)

        def decoder(writer: ParsedSchema) -> Decode[T]:
            return through(JsonCodec(_json(writer), _json(reader.parsed) if reader is not None else None), make)

        super().__init__(registry, SchemaType.JSON, decoder)


def _json(parsed: ParsedSchema) -> JsonSchema:
    assert isinstance(parsed, JsonSchema)
    return parsed


def _as_it_is(value: Any) -> Any:
    return value
