"""From the bytes of a record to objects.

The bytes, or a header, name the schema that wrote them. The objects come in the shape of the type
that the reader asks for, whichever version wrote them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, overload
from uuid import UUID

from barnabas.schemas.codec import Codec
from barnabas.schemas.errors import DoesNotDecode
from barnabas.schemas.framing import read_either
from barnabas.schemas.schema import ParsedSchema, SchemaType
from barnabas.schemas.serdes.context import Context, schema_header
from barnabas.schemas.serdes.kafka_python import kafka_python_deserializer
from barnabas.schemas.serdes.registry_port import Registered, Registry
from barnabas.schemas.serdes.serializer import CODECS_KEPT_MAX

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Decode(Protocol[T_co]):
    """From a payload to an object. Raises :class:`DoesNotDecode`."""

    def __call__(self, payload: bytes) -> T_co: ...


class Deserializer(Generic[T]):
    """Callable like confluent-kafka's. May be used by several threads at once."""

    def __init__(self, registry: Registry, type_: SchemaType, decoder: Callable[[ParsedSchema], Decode[T]]) -> None:
        """``decoder`` makes the function for payloads of a writer's schema."""
        self._registry = registry
        self._type = type_
        self._decoder = decoder
        self._decoders: dict[int | UUID, Decode[T]] = {}

    @overload
    def __call__(self, data: bytes, ctx: Context | None = None) -> T: ...

    @overload
    def __call__(self, data: None, ctx: Context | None = None) -> None: ...

    def __call__(self, data: bytes | None, ctx: Context | None = None) -> T | None:
        """None stays None. Raises :class:`~barnabas.schemas.errors.NotFramed`,
        :class:`DoesNotDecode`, or the error of the registry."""
        if data is None:
            return None
        frame = read_either(data, schema_header(ctx))
        decode = self._decoders.get(frame.schema)
        if decode is None:
            if len(self._decoders) >= CODECS_KEPT_MAX:
                self._decoders.clear()
            decode = self._decoders[frame.schema] = self._decoder(self._schema(frame.schema).parsed)
        return decode(frame.payload)

    def for_kafka_python(self, *, is_key: bool = False) -> Any:
        """A ``kafka.serializer.Deserializer`` of kafka-python."""
        return kafka_python_deserializer(self, is_key=is_key)

    def _schema(self, named: int | UUID) -> Registered:
        found = self._registry.schema_by_guid(named) if isinstance(named, UUID) else self._registry.schema_by_id(named)
        if found.type is not self._type:
            raise DoesNotDecode(f"the schema {named} is of type {found.type.value}, and not {self._type.value}")
        return found


def through(codec: Codec, make: Callable[[object], T]) -> Decode[T]:
    """Decode, then make an object of the value."""
    return lambda payload: make(codec.decode(payload))
