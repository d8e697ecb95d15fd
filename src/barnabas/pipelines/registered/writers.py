"""The schema that a sink writes with: found or made from its columns, and registered, before the
first batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.column_types import Struct, of_spark
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered.columns import columns_of, required_columns
from barnabas.pipelines.registered.derived import derived_schema, record_name
from barnabas.pipelines.registered.fitting import misfit
from barnabas.pipelines.registered.plans import EncodingPlan, SchemaText
from barnabas.pipelines.registered.registry import at_start, client_settings, open_client, registered_id, used_version
from barnabas.pipelines.registered.settings import RegisteredSettings
from barnabas.pipelines.registered.subjects import subject_of
from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.schema import ParsedSchema

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

    from barnabas.registry_client import RegistryClient


def columns_of_value(value: DataType) -> Struct:
    """The columns of the struct that becomes the value of a record."""
    try:
        found = of_spark(value.jsonValue())
    except ValueError as error:
        raise CannotRun(f"No schema has the type {str(error)!r} of a column; cast the column to another type.") from error
    assert isinstance(found, Struct)
    return found


def check_columns(columns: Struct, settings: RegisteredSettings, topic: str) -> None:
    """Without a registry: the columns fit the schema that the sink has, or one can be made."""
    if settings.schema is not None:
        _check_fit(columns, SchemaText(settings.type, settings.schema), settings.record, "The schema")
    elif settings.use is None:
        derived_schema(settings.type, columns, settings.record or record_name(topic), None)


def encoding_plan(columns: Struct, settings: RegisteredSettings, topic: str) -> EncodingPlan:
    """Registers the schema, if the sink does. Raises ``CannotRun``."""
    assert settings.registry is not None, "checked with the declaration"
    with open_client(settings.registry) as client:
        schema, schema_id = _schema(client, columns, settings, topic)
    # A message is named where a file may have several; our own have one.
    record = settings.record if settings.schema is not None or settings.use is not None else None
    return EncodingPlan(
        registry=client_settings(settings.registry),
        retry_ms=settings.registry.retry_ms,
        schema=schema,
        schema_id=schema_id,
        record=record,
        topic=topic,
        subject=settings.subject,
        strategy=settings.strategy,
        register=settings.register and settings.use is None,
    )


def _schema(client: RegistryClient, columns: Struct, settings: RegisteredSettings, topic: str) -> tuple[SchemaText, int]:
    if settings.use is not None:
        subject = settings.subject or subject_of(topic, settings.strategy, settings.record)
        found = used_version(client, subject, settings.use)
        if found.type is not settings.type or found.id is None:
            raise CannotRun(f"The subject {subject!r} has a schema of type {found.type.value}, and the format is {settings.type.value}.")
        schema = SchemaText.of(found)
        _check_fit(columns, schema, settings.record, f"Version {found.version} of the subject {subject!r}")
        return schema, found.id
    if settings.schema is not None:
        schema = SchemaText(settings.type, settings.schema)
        parsed = _check_fit(columns, schema, settings.record, "The schema of the sink")
        subject = settings.subject or subject_of(topic, settings.strategy, settings.record or parsed.record_name)
    else:
        record = settings.record or record_name(topic)
        subject = settings.subject or subject_of(topic, settings.strategy, record)
        schema = SchemaText(settings.type, derived_schema(settings.type, columns, record, _latest(client, subject)))
    return schema, registered_id(client, subject, schema, register=settings.register)


def _latest(client: RegistryClient, subject: str) -> ParsedSchema | None:
    from barnabas.registry_client import NotFound

    def ask() -> ParsedSchema | None:
        try:
            return client.latest(subject).parsed
        except (NotFound, InvalidSchema):
            return None

    return at_start(ask)


def _check_fit(columns: Struct, schema: SchemaText, record: str | None, what: str) -> ParsedSchema:
    try:
        parsed = schema.parsed()
    except InvalidSchema as error:
        raise CannotRun(f"{what} cannot be used: {error}") from error
    if (why := misfit(columns, columns_of(parsed, record), required_columns(parsed))) is not None:
        raise CannotRun(f"{what} does not fit the columns of the sink: {why}.")
    return parsed
