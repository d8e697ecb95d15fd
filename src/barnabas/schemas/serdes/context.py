"""Which part of which record is serialized."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from barnabas.schemas.framing import KEY_HEADER, VALUE_HEADER


class Context(Protocol):
    """``SerializationContext`` of confluent-kafka is one, and so is :class:`RecordContext`."""

    @property
    def topic(self) -> Any: ...

    @property
    def field(self) -> Any:
        """``key`` or ``value``."""

    @property
    def headers(self) -> Any:
        """A list of pairs, a dict, or None. A serializer adds to them."""


@dataclass(frozen=True, slots=True)
class RecordContext:
    """For clients that know no context: kafka-python, aiokafka."""

    topic: str
    field: str = "value"
    headers: MutableSequence[tuple[str, bytes]] | MutableMapping[str, bytes] | None = None


def is_key(context: Context) -> bool:
    return str(context.field) == "key"


def header_name(context: Context) -> str:
    return KEY_HEADER if is_key(context) else VALUE_HEADER


def schema_header(context: Context | None) -> bytes | None:
    """The header that names the schema, if there is one."""
    headers = context.headers if context is not None else None
    if context is None or not headers:
        return None
    name = header_name(context)
    if isinstance(headers, Mapping):
        found = headers.get(name)
    elif isinstance(headers, Sequence):
        found = next((value for key, value in headers if key == name), None)
    else:
        found = None
    return bytes(found) if isinstance(found, bytes | bytearray | memoryview) else None
