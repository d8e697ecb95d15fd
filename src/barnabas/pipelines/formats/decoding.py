"""From Kafka's columns to a source's columns, and the handling of undecodable records.

A decoded frame has the declared columns and, beside them, the origin of each record: ``_key``
(binary), ``_topic``, ``_partition``, ``_offset``, ``_timestamp``, ``_headers``. Spark reads only
the columns that a query uses, so these cost nothing. Sinks that write "all" columns leave out those
with an underscore.

tolerance   an undecodable record
=========   ========================================================================================
none        stops the pipeline, with its position and the reason
all         is left out; with ``dead_letters`` it goes there, by a query of its own that
            :mod:`dead_letters` starts
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.formats import FORMATS, MISFIT, InfersSchema, quoted, with_reason
from barnabas.pipelines.registered.plans import DecodingPlan
from barnabas.pipelines.registered.settings import RegisteredSettings
from barnabas.pipelines.schema_changes.columns import SchemaChange, ddl
from barnabas.pipelines.schema_changes.merging import optional
from barnabas.pipelines.schema_changes.remembered import UNKNOWN_FIELDS, RememberedSchema, struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

# The names in Spark's connector. Every decoded frame has these.
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
POSITION_COLUMNS = ("topic", "partition", "offset")
# The runner recognises the error of a record by this among all errors that Spark may throw.
UNDECODABLE_MARK = "barnabas-undecodable|"
META_COLUMNS = ("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers")


@dataclass(frozen=True, slots=True)
class Undecodable:
    """Undecodable records of a source, with Kafka's columns and ``reason``."""

    source: SourceDeclaration
    frame: DataFrame


def decode(frame: DataFrame, source: SourceDeclaration, context: RunContext, *, nulls_pass: bool = False) -> DataFrame:
    """``nulls_pass``: a record without a value is a tombstone, not undecodable; its columns are
    null (the key's are not)."""
    from pyspark.sql import functions as F

    assert source.decoding is not None, "the kind says DECODES"
    decoding = source.decoding

    def extended(reason: Column) -> Column:
        reason = F.when(F.col("value").isNotNull(), reason) if nulls_pass else reason
        if decoding.key is None:
            return reason
        key = F.try_validate_utf8(F.col("key").cast("string")).try_cast(decoding.key.type)
        wrong_key = F.concat(F.lit(f"the key is not a {decoding.key.type}"))
        return F.coalesce(reason, F.when(F.col("key").isNotNull() & key.isNull(), wrong_key))

    whole, has_fields = _whole(frame, decoding.format, extended)
    if decoding.tolerance == "none":
        good = whole.where(F.when(F.col("_reason").isNull(), F.lit(True)).otherwise(stop(source.name, _position(frame), F.col("_reason"))))
    else:
        good = whole.where(F.col("_reason").isNull())
        context.undecodable.append(
            Undecodable(source, whole.where(F.col("_reason").isNotNull()).select(*_present(frame), F.col("_reason").alias("reason")))
        )
    if has_fields:
        good = note_unknown(good, source, _position(frame))
    columns: list[Column] = []
    names = good.select("_row.*").columns
    if decoding.key is not None and decoding.key.name not in names:
        columns.append(F.try_validate_utf8(F.col("key").cast("string")).try_cast(decoding.key.type).alias(decoding.key.name))
    columns += [F.col(f"_row.{quoted(name)}").alias(name) for name in names]
    present = set(_present(frame))
    meta = [F.col(name.removeprefix("_")).alias(name) for name in META_COLUMNS if name.removeprefix("_") in present and name not in names]
    return good.select(*columns, *meta)


def _whole(frame: DataFrame, declared: FormatDeclaration, extended: Callable[[Column], Column]) -> tuple[DataFrame, bool]:
    """Kafka's columns, ``_row`` and ``_reason``; and whether ``_unknown`` names fields without a
    column."""
    from pyspark.sql import functions as F

    if isinstance(declared.settings, DecodingPlan):
        return decoded_rows(frame, declared, _present(frame)).withColumn("_reason", extended(F.col("_reason"))), False
    decoded = FORMATS.of(declared.kind).decode(F.col("value"), declared)
    return with_reason(frame, decoded, _present(frame), extended(decoded.reason)), decoded.fields is not None


def decoded_rows(frame: DataFrame, declared: FormatDeclaration, kept: Sequence[str]) -> DataFrame:
    """The columns ``kept``, ``_row`` and ``_reason``, in any format. ``frame`` has ``value``."""
    from pyspark.sql import functions as F

    if isinstance(declared.settings, DecodingPlan):
        from barnabas.pipelines.registered.decoding import decoded_frame

        assert declared.schema is not None, "the columns of the readers' schema"
        return decoded_frame(frame, declared.settings, struct(declared.schema), kept)
    decoded = FORMATS.of(declared.kind).decode(F.col("value"), declared)
    return frame.select(*kept, decoded.row.alias("_row"), decoded.reason.alias("_reason"))


def with_schema(
    source: SourceDeclaration, sample: Callable[[], DataFrame], context: RunContext, topic: str | None = None
) -> SourceDeclaration:
    """The same source with a schema: declared, remembered, inferred now from a sample, or that of a
    registry, where ``topic`` names the subject.

    The schema is remembered beside the checkpoint, because a restart that inferred another one
    would not fit the existing state."""
    assert source.decoding is not None
    declared = source.decoding.format
    if isinstance(declared.settings, RegisteredSettings):
        from barnabas.pipelines.registered.readers import with_readers_schema

        return with_readers_schema(source, topic, context)
    if declared.schema is not None:
        return source
    remembered = RememberedSchema(source, context)
    schema = remembered.read()
    if schema is None:
        found = FORMATS.of(declared.kind).infer(sample(), declared)
        if found is None:
            return source
        if not found:
            raise CannotRun(
                f"The columns of source {source.name!r} cannot be inferred, because there is no record yet; declare its 'schema'."
            )
        schema = struct(found)
        remembered.write(schema)
    # Where changes are accepted, a missing field is a change: it becomes null and does not stop the
    # query.
    text = ddl(optional(schema.jsonValue()) if remembered.accepts else schema.jsonValue())
    return replace(source, decoding=replace(source.decoding, format=replace(declared, schema=text, inferred=True)))


def accept_records(
    source: SourceDeclaration, unread: DataFrame, recent: DataFrame, context: RunContext, topic: str | None = None
) -> tuple[SchemaChange, ...]:
    """Afterwards the inferred columns fit ``unread`` and have the announced new fields of
    ``recent``, which both have ``value``; or the columns are those of the readers' schema."""
    assert source.decoding is not None
    if isinstance(source.decoding.format.settings, RegisteredSettings):
        from barnabas.pipelines.registered.readers import accept_readers_schema

        return accept_readers_schema(source, topic, context)
    remembered = RememberedSchema(source, context)
    known = remembered.read()
    if source.decoding.format.schema is not None or known is None:
        return ()
    declared = source.decoding.format
    found = cast(InfersSchema, FORMATS.of(declared.kind)).reinfer(unread, recent, known, remembered.wants(), declared)
    changes = remembered.changes(found)
    if changes:
        remembered.write(found)
    return changes


def note_unknown(good: DataFrame, source: SourceDeclaration, position: Column) -> DataFrame:
    """``good`` has ``_unknown``, an array of names. Where changes are accepted, a new field stops
    the batch before it is written, and the run starts again with the field. Otherwise the query's
    report names it."""
    from pyspark.sql import functions as F

    if source.schema_changes == "accept":
        new = F.concat(F.lit(f"{MISFIT}: the field '"), F.array_min("_unknown"), F.lit("' is new"))
        return good.where(F.when(F.size("_unknown") == 0, F.lit(True)).otherwise(stop(source.name, position, new)))
    if not good.isStreaming:
        return good
    # Only the first and the last by name: records may use ids as names of fields, and a report has
    # to stay small.
    ends = F.min(F.array_min("_unknown")).alias("first"), F.max(F.array_max("_unknown")).alias("last")
    return good.observe(f"{UNKNOWN_FIELDS}{source.name}", *ends)


def _present(frame: DataFrame) -> list[str]:
    return [name for name in KAFKA_COLUMNS if name in frame.columns]


def stop(source: str, position: Column, reason: Column) -> Column:
    """Never true: it stops the query, with a text that tells the runner the reason."""
    from pyspark.sql import functions as F

    return F.raise_error(F.concat(F.lit(f"{UNDECODABLE_MARK}{source}|at "), position, F.lit("|"), reason)).cast("boolean")


def _position(frame: DataFrame) -> Column:
    from pyspark.sql import functions as F

    return F.concat_ws(", ", *(F.concat_ws(" ", F.lit(name), F.col(name)) for name in POSITION_COLUMNS if name in frame.columns))
