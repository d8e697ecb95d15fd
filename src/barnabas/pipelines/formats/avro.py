"""Avro: with a registry (:mod:`barnabas.pipelines.registered`), or without one, through spark-avro.

    format: {avro: {registry: http://127.0.0.1:8081}}
    format: {avro: {schema: {type: record, name: Payment, fields: [{name: account, type: string}]}}}
    format: {avro: {schema_file: payment.avsc, framing: registry, schema_id: 7}}

The registry may be that of the pipeline. A ``framing`` says that no registry is asked; the rest of
this page is about that.

A record's bytes do not describe themselves, so the writer's schema is needed to read them; a sink
derives one from its columns when none is given. Bytes that fit the schema by chance are decoded to
wrong values: Avro cannot detect that, but the framing can.

framing    value
========   =========================================================================================
none       the Avro bytes
registry   a zero byte, the schema's id as four bytes (big-endian), the Avro bytes: the common
           format of schema registries

The one declared schema is that of ``schema_id``, and records with another id are undecodable.
Without a ``schema_id`` a source accepts any id.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.declaration.located import plain
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.formats import Decoded, quoted
from barnabas.pipelines.registered.settings import RegisteredSettings, declare_registered
from barnabas.schemas.schema import SchemaType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration

PACKAGES = ("org.apache.spark:spark-avro_2.13:{spark}",)
FRAMINGS = ("none", "registry")
# A zero byte and a schema id of four bytes.
FRAME_BYTES = 5
# Spark's substring has no "to the end"; no value is longer than a Java array.
_TO_THE_END = 2**31 - 1
# A field that no writer has, with a default: true in every record that was decoded. For an
# undecodable one Spark returns a row of nulls, which looks like a record whose fields are all null.
_READ = "barnabas_read"


@dataclass(frozen=True, slots=True)
class AvroSettings:
    schema: str | None  # Avro's JSON
    framing: str
    schema_id: int | None
    # Counts if the pipeline has a registry, unless the framing is declared.
    registered: RegisteredSettings | None = None


def declare(fields: Fields) -> AvroSettings | RegisteredSettings:
    if "registry" in fields:
        with_registry = declare_registered(fields, SchemaType.AVRO)
        for name in ("framing", "schema_id"):
            if name in fields:
                fields.located(name)
                fields.report(f"{fields.what} has a registry, which knows the schema of each record; leave out {name!r}.", name)
        return with_registry
    framing, schema_id = fields.choice("framing", FRAMINGS, default="none"), fields.optional_integer("schema_id")
    unframed = "framing" in fields or "schema_id" in fields
    schema = _declare_schema(fields)
    registered = None if unframed else declare_registered(fields, SchemaType.AVRO, schema=schema, reads_schema=False)
    settings = AvroSettings(schema, framing, schema_id, registered)
    if settings.schema_id is not None and settings.framing == "none":
        fields.report(f"{fields.what} has a 'schema_id', which only 'framing: registry' puts into records.", "schema_id")
    return settings


def packages(settings: object) -> tuple[str, ...]:
    """With a registry, records are decoded in Python."""
    return () if isinstance(settings, RegisteredSettings) else PACKAGES


def infer(values: DataFrame, declaration: FormatDeclaration) -> str | None:
    return None


def decode(value: Column, declaration: FormatDeclaration) -> Decoded:
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    settings = _settings(declaration)
    if settings.schema is None:
        raise CannotRun("The format avro cannot read without the writer's schema; give it as 'schema' or 'schema_file' inside 'avro'.")
    frame_reason, payload = _unframed(value, settings)
    options = {"mode": "PERMISSIVE", "avroSchema": _with_read_mark(settings.schema)}
    parsed = from_avro(F.when(frame_reason.isNull(), payload), settings.schema, options)
    readable = parsed.getField(_READ)
    reason = (
        F.when(value.isNull(), F.lit("there is no value"))
        .when(frame_reason.isNotNull(), frame_reason)
        .when(readable.isNull(), F.lit("this is not Avro of the declared schema"))
    )
    return Decoded(F.when(readable, parsed.dropFields(_READ)), reason)


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import to_avro

    settings = _settings(declaration)
    row = F.struct(*map(quoted, columns))
    encoded = to_avro(row) if settings.schema is None else to_avro(row, settings.schema)
    if settings.framing == "none":
        return encoded
    if settings.schema_id is None:
        raise CannotRun("A sink that writes Avro with 'framing: registry' needs a 'schema_id' for its records.")
    frame = b"\0" + settings.schema_id.to_bytes(FRAME_BYTES - 1, "big")
    return F.concat(F.lit(bytearray(frame)), encoded)


def _unframed(value: Column, settings: AvroSettings) -> tuple[Column, Column]:
    """The reason why the frame is invalid, or null; and the bytes after it."""
    from pyspark.sql import functions as F

    if settings.framing == "none":
        return F.lit(None).cast("string"), value
    framed = (F.length(value) >= FRAME_BYTES) & (F.hex(F.substring(value, 1, 1)) == "00")
    schema_id = F.conv(F.hex(F.substring(value, 2, FRAME_BYTES - 1)), 16, 10)
    reason = F.when(~framed, F.lit("this does not start with a zero byte and a schema id"))
    if settings.schema_id is not None:
        other = F.concat(F.lit("the schema id is "), schema_id, F.lit(f", and only that of {settings.schema_id} is declared"))
        reason = reason.when(schema_id != str(settings.schema_id), other)
    return reason, F.substring(value, FRAME_BYTES + 1, _TO_THE_END)


def _declare_schema(fields: Fields) -> str | None:
    found, path = fields.located("schema"), fields.optional_text("schema_file")
    if found is not None and path is not None:
        fields.report(f"{fields.what} has both 'schema' and 'schema_file'.", "schema_file")
        return None
    name = "schema" if path is None else "schema_file"
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            fields.report(f"the schema of {fields.what} cannot be read: {path}: {error.strerror}.", name)
            return None
    elif found is not None:
        text = found.value if isinstance(found.value, str) else json.dumps(plain(found), default=repr)
    else:
        return None
    try:
        schema = json.loads(text)
    except ValueError as error:
        fields.report(f"the Avro schema of {fields.what} is not JSON: {error}.", name)
        return None
    if not isinstance(schema, dict) or schema.get("type") != "record" or not isinstance(schema.get("fields"), list):
        fields.report(f"the Avro schema of {fields.what} is not that of a record (type: record, with a name and fields).", name)
        return None
    return json.dumps(schema)


def _with_read_mark(schema: str) -> str:
    record: dict[str, Any] = json.loads(schema)
    record["fields"] = [*record["fields"], {"name": _READ, "type": ["boolean", "null"], "default": True}]
    return json.dumps(record)


def _settings(declaration: FormatDeclaration) -> AvroSettings:
    assert isinstance(declaration.settings, AvroSettings)
    return declaration.settings
