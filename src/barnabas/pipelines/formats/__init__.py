"""Formats: how the bytes of a record become columns, and columns bytes.

A format is a module with the three functions of :class:`Format`. It works on columns, not on frames, so the same module decodes values
from a topic and encodes them for another, in a stream or not. Decoding never fails: what cannot be read gets a reason, and
:mod:`barnabas.pipelines.formats.decoding` decides by the source's tolerance what becomes of it.
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


# Reasons begin with it when it may be the inferred columns that are wrong, and not the record.
MISFIT = "it does not fit the remembered columns"


class RecordFields(Protocol):
    """Which fields records have, by a column that :func:`with_reason` makes of ``keys``."""

    @property
    def keys(self) -> Column: ...

    def missing(self, keys: str) -> Column:
        """The first required field that is not there, or null."""

    def unknown(self, keys: str) -> Column:
        """An array of the fields that the columns lack."""


class Decoded(NamedTuple):
    row: Column  # a struct of the columns; null where it could not be read
    reason: Column  # why it could not be read; null where it could
    fields: RecordFields | None = None  # where columns are inferred, and a format has fields that may be missing or new


class InfersSchema(Protocol):
    """Of formats whose ``infer`` finds columns."""

    def reinfer(
        self, unread: DataFrame, recent: DataFrame, known: StructType, wanted: Callable[[str], bool], declaration: FormatDeclaration
    ) -> StructType:
        """The columns after a change: those that the records which are not read yet ask for, new ones of recent records as far as they are
        wanted, and of the known ones those that stay."""


class Format(Protocol):
    """``PACKAGES``, when a module has it, names the Maven packages the format needs."""

    def declare(self, fields: Fields) -> object:
        """The settings in ``format: {name: {...}}``; a format without settings asks for nothing and gives None."""

    def infer(self, values: DataFrame, declaration: FormatDeclaration) -> str | None:
        """The columns, as DDL, of a sample (a frame with the one binary column ``value``). None: the format needs no schema."""

    def decode(self, value: Column, declaration: FormatDeclaration) -> Decoded:
        """``value`` is binary and may be null. The declaration has its schema by now."""

    def encode(self, columns: Sequence[str], declaration: FormatDeclaration) -> Column:
        """From columns of a frame, by name; the answer is binary or text."""


def with_reason(frame: DataFrame, decoded: Decoded, kept: Sequence[str], reason: Column) -> DataFrame:
    """The columns ``kept``, and ``_row``, ``_reason`` and ``_unknown`` of the decoded record. ``reason`` is the format's, or says more."""
    from pyspark.sql import functions as F

    row, told = decoded.row.alias("_row"), reason.alias("_reason")
    if decoded.fields is None:
        return frame.select(*kept, row, told, F.lit(None).cast("array<string>").alias("_unknown"))
    lacks = decoded.fields.missing("_keys")
    absent = F.concat(F.lit(f"{MISFIT}: it lacks the field '"), lacks, F.lit("', which every record had before"))
    whole = frame.select(*kept, row, told, decoded.fields.keys.alias("_keys"))
    return whole.select(
        *kept,
        "_row",
        F.coalesce("_reason", absent).alias("_reason"),
        decoded.fields.unknown("_keys").alias("_unknown"),
    )


def quoted(column: str) -> str:
    """A column's name as Spark wants it where a dot would mean a field inside it."""
    return f"`{column.replace('`', '``')}`"


FORMATS: Kinds[Format] = Kinds("format", __name__, {"json": "json", "text": "text", "bytes": "bytes", "avro": "avro", "csv": "csv"})
