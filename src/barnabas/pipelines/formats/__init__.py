"""Formats: how the bytes of a record become columns, and columns become bytes.

A format is a module with the three functions of :class:`Format`. It works on columns, not on
frames, so the same module decodes values from a topic and encodes them for another, in a stream or
not.

Read this module first, then :mod:`~.decoding` (from Kafka's columns to a source's columns), then
the formats: :mod:`~.json` with :mod:`~.json_fields`, :mod:`~.avro`, :mod:`~.csv`, and :mod:`~.text`
and :mod:`~.bytes` over :mod:`~.single_column`. :mod:`~.json_schema`, :mod:`~.protobuf` and
:mod:`~.avro` with a registry only declare their settings: :mod:`barnabas.pipelines.registered`
decodes and encodes whole frames for them, in Python.

Invariant: decoding never fails. A record that cannot be decoded gets a reason, and
:mod:`~.decoding` applies the source's tolerance to it.

Not here: CSV and Parquet files, which Spark's own readers decode
(:mod:`barnabas.pipelines.sources.files`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.pipelines.kinds import Kinds

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration


# Reasons start with this when the inferred columns may be at fault, not the record.
MISFIT = "it does not fit the remembered columns"


class RecordFields(Protocol):
    """The fields that records have, by a column that :func:`with_reason` makes of ``keys``."""

    @property
    def keys(self) -> Column: ...

    def missing(self, keys: str) -> Column:
        """The first required field that is missing, or null."""

    def unknown(self, keys: str) -> Column:
        """An array of the fields that the columns lack."""


class Decoded(NamedTuple):
    row: Column  # a struct of the columns; null for an undecodable record
    reason: Column  # why it is undecodable; null for a decoded record
    # Where columns are inferred, and fields may be missing or new.
    fields: RecordFields | None = None


class InfersSchema(Protocol):
    """A format that can infer columns."""

    def reinfer(
        self, unread: DataFrame, recent: DataFrame, known: StructType, wanted: Callable[[str], bool], declaration: FormatDeclaration
    ) -> StructType:
        """The columns after a change: those that the unread records need, new ones of recent
        records as far as they are wanted, and the known ones that stay."""


class Format(Protocol):
    """``PACKAGES``, if a module has it, names the Maven packages that the format needs."""

    def declare(self, fields: Fields) -> object:
        """The settings in ``format: {name: {...}}``; a format without settings returns None."""

    def infer(self, values: DataFrame, declaration: FormatDeclaration) -> str | None:
        """The columns of a sample, as DDL. The sample is a frame with the one binary column
        ``value``. None: the format needs no schema."""

    def decode(self, value: Column, declaration: FormatDeclaration) -> Decoded:
        """``value`` is binary and may be null. The declaration has a schema at this point."""

    def encode(self, columns: Sequence[str], declaration: FormatDeclaration) -> Column:
        """From columns of a frame, by name; the result is binary or text."""


def with_reason(frame: DataFrame, decoded: Decoded, kept: Sequence[str], reason: Column) -> DataFrame:
    """The columns ``kept``, and ``_row``, ``_reason`` and ``_unknown`` of the decoded record.
    ``reason`` is the format's, or extends it."""
    from pyspark.sql import functions as F

    row, why = decoded.row.alias("_row"), reason.alias("_reason")
    if decoded.fields is None:
        return frame.select(*kept, row, why, F.lit(None).cast("array<string>").alias("_unknown"))
    lacks = decoded.fields.missing("_keys")
    absent = F.concat(F.lit(f"{MISFIT}: it lacks the field '"), lacks, F.lit("', which every record had before"))
    whole = frame.select(*kept, row, why, decoded.fields.keys.alias("_keys"))
    return whole.select(
        *kept,
        "_row",
        F.coalesce("_reason", absent).alias("_reason"),
        decoded.fields.unknown("_keys").alias("_unknown"),
    )


def quoted(column: str) -> str:
    """A column's name as Spark needs it, so that a dot is not taken for a nested field."""
    return f"`{column.replace('`', '``')}`"


FORMATS: Kinds[Format] = Kinds(
    "format", __name__, {each: each for each in ("json", "text", "bytes", "avro", "csv", "json_schema", "protobuf")}
)
