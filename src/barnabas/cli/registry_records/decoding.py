"""From the bytes of records to JSON, by the schemas that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from uuid import UUID

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.headers import headers_of
from barnabas.cli.errors import Refused
from barnabas.cli.registry_records.decoded_message import Decoded, DecodedMessage
from barnabas.cli.registry_records.formats import Format
from barnabas.registry_client.client import RegistryClient
from barnabas.registry_client.errors import RegistryRefused, RegistryUnreachable
from barnabas.schemas.errors import DoesNotFit, InvalidSchema, NotFramed
from barnabas.schemas.framing import KEY_HEADER, VALUE_HEADER, Frame, read_either
from barnabas.schemas.json_view import JsonView, json_view_of
from barnabas.schemas.schema import SchemaType

# Schemas that one command meets and keeps.
VIEWS_KEPT_MAX: Final = 10_000

R = TypeVar("R")


class Decoding:
    def __init__(self, registry: RegistryClient, key: Format, value: Format) -> None:
        self._registry = registry
        self._key = key
        self._value = value
        # The view of a schema, or the reason why it has none: a missing schema is asked for once.
        self._views: dict[int | UUID, tuple[SchemaType, JsonView] | str] = {}
        self._last: tuple[Message, DecodedMessage] | None = None
        self.failures = 0
        self.first_failure = ""

    def before(self, use: Callable[[Message], R]) -> Callable[[Message], R]:
        """A function that gets the decoded record. A filter and a template of the same record share
        it."""
        return lambda message: use(self.decoded(message))

    def decoded(self, message: Message) -> DecodedMessage:
        if self._last is None or self._last[0] is not message:
            key = self._part(message, message.key(), self._key, KEY_HEADER)
            value = self._part(message, message.value(), self._value, VALUE_HEADER)
            self._last = message, DecodedMessage(message, key, value)
        return self._last[1]

    def report(self) -> None:
        """Raises ``Refused`` if a part of a record could not be decoded."""
        if self.failures:
            parts = f"{self.failures} key or value" if self.failures == 1 else f"{self.failures} keys or values"
            raise Refused(f"{parts} could not be decoded; the first is {self.first_failure}")

    def _part(self, message: Message, data: bytes | None, wanted: Format, header_name: str) -> Decoded | None:
        """None for bytes that stay as they are."""
        if data is None or not wanted.needs_registry:
            return None
        header = next((value for name, value in headers_of(message) if name == header_name and isinstance(value, bytes)), None)
        try:
            frame = read_either(data, header)
        except NotFramed as error:
            return None if wanted is Format.AUTO else self._failed(message, data, str(error), header_name)
        try:
            return Decoded(data, self._show(frame, wanted), str(frame.schema))
        except (DoesNotFit, InvalidSchema) as error:
            return self._failed(message, data, str(error), header_name)

    def _show(self, frame: Frame, wanted: Format) -> object:
        found = self._view(frame.schema)
        if isinstance(found, str):
            raise InvalidSchema(found)
        type_, view = found
        if wanted.schema_type not in (None, type_):
            raise InvalidSchema(f"The schema {frame.schema} is of type {type_.value}, and not {wanted.value}.")
        return view.show(frame.payload)

    def _view(self, schema: int | UUID) -> tuple[SchemaType, JsonView] | str:
        known = self._views.get(schema)
        if known is None:
            if len(self._views) >= VIEWS_KEPT_MAX:
                self._views.clear()
            known = self._views[schema] = self._fetched(schema)
        return known

    def _fetched(self, schema: int | UUID) -> tuple[SchemaType, JsonView] | str:
        try:
            found = self._registry.schema_by_guid(schema) if isinstance(schema, UUID) else self._registry.schema_by_id(schema)
            return found.type, json_view_of(found.parsed)
        except RegistryUnreachable as error:
            # Not the record's fault; all others would fail likewise.
            raise Refused(str(error)) from error
        except (RegistryRefused, InvalidSchema) as error:
            return f"The schema {schema} cannot be used: {error}"

    def _failed(self, message: Message, data: bytes, reason: str, header_name: str) -> Decoded:
        self.failures += 1
        if self.failures == 1:
            part = "key" if header_name == KEY_HEADER else "value"
            self.first_failure = f"the {part} in {message.topic()}-{message.partition()} at offset {message.offset()}: {reason}"
        return Decoded(data, error=reason)
