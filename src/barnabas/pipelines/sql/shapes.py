"""The columns of a topic: those of its schema where a registry has one, otherwise of a sample.

A topic counts as registered if a record of the sample carries the id or GUID of a schema that the
registry knows; an empty topic, if the registry has a subject of its name. The columns are those of
the latest version, and every record is decoded with the schema that wrote it. A record that cannot
be decoded has null in all columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from barnabas.pipelines.column_types import Struct
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered.plans import DecodingPlan, SchemaText
from barnabas.pipelines.sql.inference import KAFKA_COLUMNS, TableShape, ValueKind, infer
from barnabas.pipelines.sql.topic_offsets import SampleRecord
from barnabas.schemas.errors import InvalidSchema, NotFramed
from barnabas.schemas.framing import read_either, read_indexes
from barnabas.schemas.schema import SchemaType

if TYPE_CHECKING:
    from barnabas.registry_client import RegisteredSchema, RegistryClient, RegistrySettings

# Ids of a sample that the registry is asked for: bytes that are no ids look like ever new ones.
IDS_ASKED_MAX: Final = 10
# How long a query asks a registry that does not answer.
RETRY_MS: Final = 10_000


class TopicShapes:
    """``registry`` None: samples alone."""

    def __init__(self, registry: RegistrySettings | None = None) -> None:
        self._settings = registry
        self._client: RegistryClient | None = None
        if registry is not None:
            from barnabas.registry_client import RegistryClient

            self._client = RegistryClient(registry)

    def of(self, topic: str, sample: Sequence[SampleRecord]) -> TableShape:
        """Raises ``CannotRun`` when the registry does not answer."""
        inferred = infer(sample)
        if self._client is None or self._settings is None:
            return inferred
        from barnabas.pipelines.registered.registry import at_start

        client = self._client
        found = at_start(lambda: _registered(client, topic, sample))
        if found is None:
            return inferred
        schema, record = found
        fields = _columns(SchemaText.of(schema), record)
        plan = DecodingPlan(self._settings, RETRY_MS, SchemaText.of(schema), record)
        return TableShape(ValueKind.REGISTERED, inferred.key_is_text, fields, plan=plan)


def _registered(client: RegistryClient, topic: str, sample: Sequence[SampleRecord]) -> tuple[RegisteredSchema, str | None] | None:
    """The schema whose columns the topic has, and the Protobuf message; None if the values are not
    registered."""
    from barnabas.registry_client import NotFound

    if all(each.value is None for each in sample):
        return _latest_or(client, f"{topic}-value", None)
    for schema, payload in _frames(sample):
        try:
            written = client.schema_by_id(schema) if isinstance(schema, int) else client.schema_by_guid(schema)
        except NotFound:
            continue
        record = _message(written, payload)
        found = _latest_or(client, f"{topic}-value", record)
        if found is None and written.id is not None:
            found = next((each for name in client.subjects_of_id(written.id) if (each := _latest_or(client, name, record))), None)
        return found if found is not None and found[0].type is written.type else (written, record)
    return None


def _frames(sample: Sequence[SampleRecord]) -> Iterator[tuple[int | UUID, bytes]]:
    """From the newest record, each schema once."""
    seen: set[int | UUID] = set()
    for each in reversed(sample):
        if each.value is None:
            continue
        try:
            schema, payload = read_either(each.value, each.schema_header)
        except NotFramed:
            continue
        if schema not in seen:
            seen.add(schema)
            yield schema, payload
        if len(seen) == IDS_ASKED_MAX:
            return


def _latest_or(client: RegistryClient, subject: str, record: str | None) -> tuple[RegisteredSchema, str | None] | None:
    from barnabas.registry_client import NotFound

    try:
        return client.latest(subject), record
    except NotFound:
        return None


def _message(schema: RegisteredSchema, payload: bytes) -> str | None:
    """The full name of the Protobuf message that a record is."""
    if schema.type is not SchemaType.PROTOBUF:
        return None
    from barnabas.schemas.protobuf.message_types import MessageTypes
    from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema

    parsed = schema.parsed
    assert isinstance(parsed, ProtobufSchema)
    try:
        return MessageTypes(parsed).full_name(read_indexes(payload)[0])
    except NotFramed:
        return None


def _columns(schema: SchemaText, record: str | None) -> Struct:
    """Fields with the names of our own columns cannot be reached."""
    from barnabas.pipelines.registered.columns import columns_of

    try:
        found = columns_of(schema.parsed(), record)
    except InvalidSchema as error:
        raise CannotRun(f"The schema of the topic cannot be used: {error}") from error
    return Struct(tuple((name, kind) for name, kind in found.fields if name.lower() not in KAFKA_COLUMNS))
