"""Avro for dataclasses, Pydantic models, and dicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack, cast, overload

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.codec import AvroCodec
from barnabas.schemas.avro.union_forms import UnionForm
from barnabas.schemas.schema import ParsedSchema, Reference, SchemaType
from barnabas.schemas.serdes.deserializer import Decode, Deserializer, through
from barnabas.schemas.serdes.python_types.avro_types import avro_schema_of
from barnabas.schemas.serdes.python_types.from_values import from_values
from barnabas.schemas.serdes.python_types.reading_types import shape_of
from barnabas.schemas.serdes.python_types.to_values import Form, to_values
from barnabas.schemas.serdes.registry_port import Registry
from barnabas.schemas.serdes.serializer import Serializer, SerializerOptions, WriteOptions
from barnabas.schemas.serdes.written_schema import SchemaText

T = TypeVar("T")


class AvroSerializer(Serializer[T]):
    @overload
    def __init__(
        self: AvroSerializer[T],
        registry: Registry,
        type_: type[T],
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
        namespace: str | None = None,
        **options: Unpack[SerializerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: AvroSerializer[Any],
        registry: Registry,
        type_: None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
        namespace: str | None = None,
        **options: Unpack[SerializerOptions],
    ) -> None: ...

    def __init__(
        self,
        registry: Registry,
        type_: type[T] | None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
        namespace: str | None = None,
        **options: Unpack[SerializerOptions],
    ) -> None:
        """``type_`` gives the schema, unless ``schema`` does; without a type, objects are dicts.
        ``namespace`` is that of the derived schema. Raises
        :class:`~barnabas.schemas.errors.InvalidSchema`."""
        written = WriteOptions(**options)
        shape = shape_of(type_) if type_ is not None else None
        if schema is None and shape is not None and not written.use_latest and written.schema_id is None:
            schema = avro_schema_of(shape, namespace)
        text = SchemaText.of(registry, SchemaType.AVRO, schema, references) if schema is not None else None
        convert: Callable[[T], object] = to_values(shape, Form.AVRO) if shape is not None else _as_it_is
        super().__init__(registry, SchemaType.AVRO, text, convert, lambda parsed: AvroCodec(_avro(parsed)), written)


class AvroDeserializer(Deserializer[T]):
    @overload
    def __init__(
        self: AvroDeserializer[T], registry: Registry, type_: type[T], *, schema: str | None = None, references: Sequence[Reference] = ()
    ) -> None: ...

    @overload
    def __init__(
        self: AvroDeserializer[Any],
        registry: Registry,
        type_: None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
    ) -> None: ...

    def __init__(
        self, registry: Registry, type_: type[T] | None = None, *, schema: str | None = None, references: Sequence[Reference] = ()
    ) -> None:
        """The reader's schema is ``schema``, or that of ``type_``, or that of the writer. Without a
        type, objects are dicts. Raises :class:`~barnabas.schemas.errors.InvalidSchema`."""
        shape = shape_of(type_) if type_ is not None else None
        if schema is None and shape is not None:
            schema = avro_schema_of(shape)
        reader = SchemaText.of(registry, SchemaType.AVRO, schema, references) if schema is not None else None
        make = cast("Callable[[object], T]", from_values(shape, Form.AVRO) if shape is not None else _as_it_is)

        def decoder(writer: ParsedSchema) -> Decode[T]:
            read = _avro(reader.parsed) if reader is not None else None
            unions = UnionForm.NAMED_RECORDS if shape is not None else UnionForm.PLAIN
            return through(AvroCodec(_avro(writer), read, unions=unions), make)

        super().__init__(registry, SchemaType.AVRO, decoder)


def _avro(parsed: ParsedSchema) -> AvroSchema:
    assert isinstance(parsed, AvroSchema)
    return parsed


def _as_it_is(value: Any) -> Any:
    return value
