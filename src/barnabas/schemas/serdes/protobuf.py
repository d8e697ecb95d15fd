"""Protobuf for generated classes of messages, dataclasses, Pydantic models, and dicts.

A generated class brings its schema along, with the files that it imports. For any other type the
program names the schema: a ``.proto`` file is where numbers of fields are decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack, cast, overload

from barnabas.schemas.codec import Codec
from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.framing import read_indexes, write_indexes
from barnabas.schemas.protobuf.codec import ProtobufCodec
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema, Reference, SchemaType
from barnabas.schemas.serdes.deserializer import Decode, Deserializer, through
from barnabas.schemas.serdes.generated_messages import GeneratedCodec, is_generated, schema_text_of
from barnabas.schemas.serdes.python_types.from_values import from_values
from barnabas.schemas.serdes.python_types.reading_types import shape_of
from barnabas.schemas.serdes.python_types.to_values import Form, to_values
from barnabas.schemas.serdes.registry_port import Registry
from barnabas.schemas.serdes.serializer import Serializer, SerializerOptions, WriteOptions
from barnabas.schemas.serdes.written_schema import SchemaText

T = TypeVar("T")


class ProtobufSerializer(Serializer[T]):
    @overload
    def __init__(
        self: ProtobufSerializer[T],
        registry: Registry,
        type_: type[T],
        *,
        schema: str | None = None,
        message: str | None = None,
        references: Sequence[Reference] = (),
        **options: Unpack[SerializerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: ProtobufSerializer[Any],
        registry: Registry,
        type_: None = None,
        *,
        schema: str | None = None,
        message: str | None = None,
        references: Sequence[Reference] = (),
        **options: Unpack[SerializerOptions],
    ) -> None: ...

    def __init__(
        self,
        registry: Registry,
        type_: type[T] | None = None,
        *,
        schema: str | None = None,
        message: str | None = None,
        references: Sequence[Reference] = (),
        **options: Unpack[SerializerOptions],
    ) -> None:
        """``type_``: a generated class, or a type whose objects have the fields of ``message``, the
        first of ``schema`` if not given; without a type, objects are dicts. Raises
        :class:`~barnabas.schemas.errors.InvalidSchema`."""
        written = WriteOptions(**options)
        text = SchemaText.of(registry, SchemaType.PROTOBUF, schema, references) if schema is not None else None
        convert: Callable[[T], object] = _as_it_is
        make_codec: Callable[[ParsedSchema], Codec] = lambda parsed: ProtobufCodec(_protobuf(parsed), message=message)  # noqa: E731
        if is_generated(type_):
            text = text or schema_text_of(registry, type_, auto_register=written.auto_register)
            make_codec = lambda parsed: GeneratedCodec(_protobuf(parsed), type_)  # noqa: E731
        elif type_ is not None:
            convert = to_values(shape_of(type_), Form.PROTOBUF)
        super().__init__(registry, SchemaType.PROTOBUF, text, convert, make_codec, written)
        self._message = message or (type_.DESCRIPTOR.full_name if is_generated(type_) else None)

    @property
    def record_name(self) -> str | None:
        return self._message or super().record_name

    def _split(self, payload: bytes) -> tuple[bytes, bytes]:
        indexes, rest = read_indexes(payload)
        return write_indexes(indexes), rest


class ProtobufDeserializer(Deserializer[T]):
    @overload
    def __init__(
        self: ProtobufDeserializer[T],
        registry: Registry,
        type_: type[T],
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
    ) -> None: ...

    @overload
    def __init__(
        self: ProtobufDeserializer[Any],
        registry: Registry,
        type_: None = None,
        *,
        schema: str | None = None,
        references: Sequence[Reference] = (),
    ) -> None: ...

    def __init__(
        self, registry: Registry, type_: type[T] | None = None, *, schema: str | None = None, references: Sequence[Reference] = ()
    ) -> None:
        """The reader's schema is that of a generated class, or ``schema``, or the writer's. Without
        a type, objects are dicts. Raises :class:`~barnabas.schemas.errors.InvalidSchema`."""
        if is_generated(type_) and schema is not None:
            raise InvalidSchema("A generated class has a schema of its own.")
        reader = SchemaText.of(registry, SchemaType.PROTOBUF, schema, references) if schema is not None else None
        shape = shape_of(type_) if type_ is not None and not is_generated(type_) else None
        make = cast("Callable[[object], T]", from_values(shape, Form.PROTOBUF) if shape is not None else _as_it_is)

        def decoder(writer: ParsedSchema) -> Decode[T]:
            if is_generated(type_):
                return cast("Decode[T]", GeneratedCodec(_protobuf(writer), type_).decode)
            return through(ProtobufCodec(_protobuf(writer), _protobuf(reader.parsed) if reader is not None else None), make)

        super().__init__(registry, SchemaType.PROTOBUF, decoder)


def _protobuf(parsed: ParsedSchema) -> ProtobufSchema:
    assert isinstance(parsed, ProtobufSchema)
    return parsed


def _as_it_is(value: Any) -> Any:
    return value
