"""Asks a registry about stamps: any that answers Confluent's API.

Of a stamp it learns the subjects, and the text of the schema where the topic decodes payloads or
names subjects by records. Only subjects of the default context count, as with Confluent's broker.

This module needs the packages of ``barnabas[registry]``; import it only where a URL is configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final
from uuid import UUID

from barnabas.config.schema_validation import (
    CACHE_SIZE,
    REGISTRY_CA,
    REGISTRY_CERTIFICATE,
    REGISTRY_KEY,
    REGISTRY_KEY_PASSWORD,
    REGISTRY_TOKEN,
    REGISTRY_URL,
    REGISTRY_USER,
    TIMEOUT_MS,
)
from barnabas.config.settings import BrokerSettings
from barnabas.registry_client import NotFound, RegisteredSchema, RegistryClient, RegistryError, RegistrySettings
from barnabas.schema_validation.core.knowledge import Answer, Registered, SchemaFacts, Unreachable, Unregistered
from barnabas.schema_validation.core.stamps import Stamp
from barnabas.schemas.codec import Codec, codec_of
from barnabas.schemas.errors import DoesNotDecode, InvalidSchema, NotFramed
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema

_DEFAULT_CONTEXT: Final = "."
_ID_STAMP_BYTES: Final = 5
# The client keeps texts, and this package keeps knowledge: the client needs to remember references.
_TEXTS_MAX: Final = 1000


def registry_settings(settings: BrokerSettings) -> RegistrySettings:
    login = settings.text_or_none(REGISTRY_USER)
    timeout_seconds = settings.integer(TIMEOUT_MS) / 1000
    name, _, password = (login or "").partition(":")
    return RegistrySettings(
        urls=tuple(url.rstrip("/") for url in settings.strings(REGISTRY_URL)),
        login=None if login is None else (name, password),
        token=settings.text_or_none(REGISTRY_TOKEN),
        trusted=settings.text_or_none(REGISTRY_CA),
        certificate=settings.text_or_none(REGISTRY_CERTIFICATE),
        key=settings.text_or_none(REGISTRY_KEY),
        key_password=settings.text_or_none(REGISTRY_KEY_PASSWORD),
        connect_seconds=timeout_seconds,
        answer_seconds=timeout_seconds,
        cache_entries=min(_TEXTS_MAX, settings.integer(CACHE_SIZE)),
        # Subjects change; this package decides how long it relies on them.
        latest_seconds=0.0,
    )


class RegistrySource:
    def __init__(self, settings: RegistrySettings) -> None:
        self._client = RegistryClient(settings)

    def look_up(self, stamp: Stamp, *, facts: bool) -> Answer:
        try:
            return self._look_up(stamp, facts=facts)
        except NotFound:
            return Unregistered.UNREGISTERED
        except RegistryError as error:
            return Unreachable(str(error).rstrip("."))
        except (KeyError, TypeError, ValueError) as error:
            return Unreachable(f"the schema registry answers with something else than schemas: {error!r}")

    def _look_up(self, stamp: Stamp, *, facts: bool) -> Answer:
        client = self._client
        if len(stamp) == _ID_STAMP_BYTES:
            schema_id = int.from_bytes(stamp[1:], "big", signed=True)
            if schema_id < 0:
                return Unregistered.UNREGISTERED
        else:
            found = self._id_of(UUID(bytes=stamp[1:]))
            if found is None:
                return Unregistered.UNREGISTERED
            schema_id = found
        subjects = frozenset(client.subjects_of_id(schema_id))
        if not facts:
            return Registered(subjects)
        usable = _UsableSchema(client.schema_by_id(schema_id))
        return Registered(subjects, SchemaFacts(usable.record_names, usable.why_undecodable))

    def _id_of(self, guid: UUID) -> int | None:
        """The id in the default context."""
        for each in self._client.ask("GET", f"/schemas/guids/{guid}/ids"):
            if each["context"] == _DEFAULT_CONTEXT:
                return int(each["id"])
        return None

    def close(self) -> None:
        self._client.close()


class _UsableSchema:
    """A registered schema, whose codec is made with the first payload."""

    def __init__(self, registered: RegisteredSchema) -> None:
        self._registered = registered

    @property
    def record_names(self) -> frozenset[str]:
        """The names that serializers may use for a record of the schema. A Protobuf file has many
        messages, and each of them may be the record."""
        try:
            return frozenset(_record_names(self._registered.parsed))
        except InvalidSchema:
            return frozenset()

    @cached_property
    def _codec(self) -> Codec | str:
        try:
            return codec_of(self._registered.parsed, logical_types=False)
        except InvalidSchema as error:
            return f"its schema cannot be used: {error}"

    def why_undecodable(self, payload: bytes) -> str | None:
        codec = self._codec
        if isinstance(codec, str):
            return codec
        try:
            codec.decode(payload)
        except (DoesNotDecode, NotFramed) as error:
            return str(error).rstrip(".")
        return None


def _record_names(parsed: ParsedSchema) -> Iterator[str]:
    if isinstance(parsed, ProtobufSchema):
        messages = list(parsed.file.messages)
        while messages:
            message = messages.pop()
            yield message.full_name
            messages.extend(message.messages)
    elif parsed.record_name is not None:
        yield parsed.record_name
