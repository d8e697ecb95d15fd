"""Serdes in the classes that kafka-python wants: it passes the topic and the headers, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.schemas.serdes.context import Context, RecordContext


def kafka_python_serializer(serialize: Callable[[Any, Context], bytes | None], *, is_key: bool) -> Any:
    """A ``kafka.serializer.Serializer``."""
    from kafka.serializer import Serializer

    class BarnabasSerializer(Serializer):  # type: ignore[misc]
        def serialize(self, topic: str, *rest: Any) -> bytes | None:
            headers, data = _headers_and_data(rest)
            return serialize(data, RecordContext(topic, _field(is_key), headers)) if data is not None else None

    return BarnabasSerializer()


def kafka_python_deserializer(deserialize: Callable[[bytes, Context], Any], *, is_key: bool) -> Any:
    """A ``kafka.serializer.Deserializer``."""
    from kafka.serializer import Deserializer

    class BarnabasDeserializer(Deserializer):  # type: ignore[misc]
        def deserialize(self, topic: str, *rest: Any) -> Any:
            headers, data = _headers_and_data(rest)
            return deserialize(bytes(data), RecordContext(topic, _field(is_key), headers)) if data is not None else None

    return BarnabasDeserializer()


def _headers_and_data(rest: tuple[Any, ...]) -> tuple[Any, Any]:
    """Releases before 3 pass no headers."""
    return (rest[0], rest[1]) if len(rest) == 2 else (None, rest[0])


def _field(is_key: bool) -> str:
    return "key" if is_key else "value"
