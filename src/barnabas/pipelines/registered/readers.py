"""The readers' schema of a source: found when the run starts, the same until it ends.

Its columns are remembered beside the checkpoint, as inferred ones are. A newer version that only
adds columns is announced, and read without them; one that removes or retypes a column stops the
start, unless the source accepts changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.pipelines.column_types import spark_schema
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered.columns import columns_of
from barnabas.pipelines.registered.plans import DecodingPlan, SchemaText
from barnabas.pipelines.registered.registry import client_settings, open_client, used_version
from barnabas.pipelines.registered.settings import LATEST, RegisteredSettings
from barnabas.pipelines.registered.subjects import subject_of
from barnabas.pipelines.schema_changes.columns import SchemaChange, breaking, ddl
from barnabas.pipelines.schema_changes.remembered import RememberedSchema, as_struct
from barnabas.schemas.errors import InvalidSchema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration


def with_readers_schema(source: SourceDeclaration, topic: str | None, context: RunContext) -> SourceDeclaration:
    """The same source with the plan of its decoding as settings and the columns as its schema.
    ``topic``: the one that it reads, for the subject."""
    assert source.decoding is not None
    settings = source.decoding.format.settings
    assert isinstance(settings, RegisteredSettings)
    assert settings.registry is not None, "checked with the declaration"
    reader, where = readers_schema(settings, topic)
    found = _columns(reader, settings)
    remembered = RememberedSchema(source, context)
    known = remembered.read()
    changes = remembered.changes(found)
    if known is None or (changes and remembered.accepts):
        remembered.write(found)
        known = found
    elif broken := breaking(changes):
        raise remembered.changed(broken, where)
    else:
        remembered.announce(changes)
    plan = DecodingPlan(client_settings(settings.registry), settings.registry.retry_ms, reader, settings.record)
    declared = replace(source.decoding.format, schema=ddl(known.jsonValue()), settings=plan)
    return replace(source, decoding=replace(source.decoding, format=declared))


def accept_readers_schema(source: SourceDeclaration, topic: str | None, context: RunContext) -> tuple[SchemaChange, ...]:
    assert source.decoding is not None
    settings = source.decoding.format.settings
    assert isinstance(settings, RegisteredSettings)
    found = _columns(readers_schema(settings, topic)[0], settings)
    remembered = RememberedSchema(source, context)
    changes = remembered.changes(found)
    if changes:
        remembered.write(found)
    return changes


def readers_schema(settings: RegisteredSettings, topic: str | None) -> tuple[SchemaText, str]:
    """The schema, and where it is from. Raises ``CannotRun``."""
    if settings.schema is not None:
        return SchemaText(settings.type, settings.schema), "the declared schema"
    assert settings.registry is not None, "checked with the declaration"
    assert settings.subject is not None or topic is not None, "checked with the declaration"
    subject = settings.subject or subject_of(str(topic), settings.strategy, settings.record)
    with open_client(settings.registry) as client:
        found = used_version(client, subject, settings.use or LATEST)
    if found.type is not settings.type:
        raise CannotRun(f"The subject {subject!r} has a schema of type {found.type.value}, and the format reads {settings.type.value}.")
    return SchemaText.of(found), f"schema {subject} (version {found.version})"


def _columns(reader: SchemaText, settings: RegisteredSettings) -> StructType:
    try:
        return as_struct(spark_schema(columns_of(reader.parsed(), settings.record)))
    except InvalidSchema as error:
        raise CannotRun(f"The readers' schema cannot be used: {error}") from error
