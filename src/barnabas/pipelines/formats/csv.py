"""One line of comma-separated values per record.

    format: csv
    format: {csv: {separator: ";", quote: "'", null: "-"}}

A record must have as many values as the schema has columns: a record with more or fewer is
undecodable, and so is one with a text that does not fit its column's type. There is no header line,
since every record would have to carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.formats import Decoded, quoted
from barnabas.pipelines.schema_changes.remembered import struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration

_CORRUPT = "_corrupt"
# When columns are inferred again: as many as at the first start.
SAMPLE_RECORDS_MAX = 1000


@dataclass(frozen=True, slots=True)
class CsvSettings:
    separator: str
    quote: str
    null: str  # the text for a null

    def options(self) -> dict[str, str]:
        """With the names of Spark's functions and readers. Spark's escape is a backslash; here it
        is the doubled quote, as in RFC 4180."""
        return {"sep": self.separator, "quote": self.quote, "escape": self.quote, "nullValue": self.null}


def declare(fields: Fields) -> CsvSettings:
    return CsvSettings(
        separator=_character(fields, "separator", ","),
        quote=_character(fields, "quote", '"'),
        null=fields.text("null", default=""),
    )


def infer(values: DataFrame, declaration: FormatDeclaration) -> str | None:
    """Types are inferred, names cannot be: c0, c1, ..."""
    from pyspark.sql import functions as F

    texts = values.select(F.try_validate_utf8(F.col("value").cast("string")).alias("text")).where("text IS NOT NULL")
    options = {**_settings(declaration).options(), "inferSchema": "true"}
    lines: Any = texts.rdd.map(lambda row: row[0])  # which PySpark accepts without documenting it
    read = values.sparkSession.read.options(**options).csv(lines)
    return ", ".join(f"c{position} {field.dataType.simpleString()}" for position, field in enumerate(read.schema.fields))


def reinfer(
    unread: DataFrame, recent: DataFrame, known: StructType, wanted: Callable[[str], bool], declaration: FormatDeclaration
) -> StructType:
    found = infer(unread.limit(SAMPLE_RECORDS_MAX), declaration)
    return struct(found) if found else known


def decode(value: Column, declaration: FormatDeclaration) -> Decoded:
    from pyspark.sql import functions as F

    assert declaration.schema is not None, "inferred before"
    options = {**_settings(declaration).options(), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = F.from_csv(F.try_validate_utf8(value.cast("string")), f"{declaration.schema}, {_CORRUPT} STRING", options)
    readable = parsed.isNotNull() & parsed.getField(_CORRUPT).isNull()
    wrong = F.lit(f"this line does not have the declared columns ({declaration.schema})")
    reason = F.when(value.isNull(), F.lit("there is no value")).when(~readable, wrong)
    return Decoded(F.when(readable, parsed.dropFields(_CORRUPT)), reason)


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F

    return F.to_csv(F.struct(*map(quoted, columns)), _settings(declaration).options())


def _settings(declaration: FormatDeclaration) -> CsvSettings:
    assert isinstance(declaration.settings, CsvSettings)
    return declaration.settings


def _character(fields: Fields, name: str, default: str) -> str:
    found = fields.located(name, "text", default)
    if found is None:
        return default
    if not isinstance(found.value, str) or len(found.value) != 1:
        fields.report(f"{name!r} of {fields.what} is one character, not {found.value!r}.", name)
        return default
    return found.value
