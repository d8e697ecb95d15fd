"""JSON objects, one per record.

Numbers that do not fit, texts where numbers were declared and incomplete objects are all
undecodable: Spark's permissive mode would turn them into nulls, and a sum over nulls is silently
wrong.

Where the columns are declared, missing fields are null, and undeclared fields are ignored:
producers may add fields. Where the columns are inferred, a field is required if every record of the
sample had it, and a record without it is undecodable: its null would look like a value. Fields that
the sample did not have are counted, so that they can be announced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from barnabas.pipelines.formats import MISFIT, Decoded, quoted, with_reason
from barnabas.pipelines.formats.json_fields import JsonFields, presence
from barnabas.pipelines.schema_changes.columns import Struct, columns, ddl
from barnabas.pipelines.schema_changes.merging import marked, merged, news
from barnabas.pipelines.schema_changes.remembered import as_struct, struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration

_CORRUPT = "_corrupt"
# Records of each kind in the sample when columns are inferred again: as many as at the first start.
SAMPLE_RECORDS_MAX = 1000


def declare(fields: Fields) -> None:
    return None


def infer(values: DataFrame, declaration: FormatDeclaration) -> str | None:
    texts = _texts(values).cache()
    try:
        schema = _read(texts).schema.jsonValue()
        return ddl(marked(schema, presence(texts, schema)))
    finally:
        texts.unpersist()


def reinfer(
    unread: DataFrame, recent: DataFrame, known: StructType, wanted: Callable[[str], bool], declaration: FormatDeclaration
) -> StructType:
    """Scans all of ``unread``. The types come from a sample: of records that fit, of those that do
    not, and of recent ones with new fields."""
    from pyspark.sql import functions as F

    before = known.jsonValue()
    decoded = decode(F.col("value"), replace(declaration, schema=ddl(before), inferred=True))

    def decoded_records(records: DataFrame) -> DataFrame:
        return with_reason(records, decoded, ["value"], decoded.reason)

    fits = F.col("_reason").isNull() & (F.size("_unknown") == 0)
    sampled = _sampled(decoded_records(unread).where(fits), decoded_records(unread).where(~fits))
    names = {each.name for each in columns(before)}
    sampled = merged(sampled, news(_sampled(decoded_records(recent).where(F.size("_unknown") > 0)), names, wanted), {})
    present = presence(_texts(unread), merged(before, sampled, {}))
    return as_struct(merged(before, sampled, present))


def _sampled(*frames: DataFrame) -> Struct:
    """Fields with only nulls are left out: their type is unknown."""
    samples = (each.select("value").limit(SAMPLE_RECORDS_MAX) for each in frames)
    sample = reduce(lambda first, second: first.unionAll(second), samples)
    schema: Struct = _read(_texts(sample), dropFieldIfAllNull="true").schema.jsonValue()
    return schema


def _texts(values: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return values.select(F.try_validate_utf8(F.col("value").cast("string")).alias("text")).where(F.col("text").isNotNull())


def _read(texts: DataFrame, **options: str) -> DataFrame:
    return texts.sparkSession.read.options(mode="DROPMALFORMED", **options).json(texts.rdd.map(lambda row: row[0]))


def decode(value: Column, declaration: FormatDeclaration) -> Decoded:
    from pyspark.sql import functions as F

    assert declaration.schema is not None, "inferred before"
    # Null when the value is not UTF-8, and then not JSON either; ``decode`` would stop the query.
    text = F.try_validate_utf8(value.cast("string"))
    # A source of files has the options of Spark's reader.
    own = declaration.settings if isinstance(declaration.settings, dict) else {}
    options = {**own, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = F.from_json(text, f"{declaration.schema}, {_CORRUPT} STRING", options)
    readable = parsed.isNotNull() & parsed.getField(_CORRUPT).isNull()
    row = F.when(readable, parsed.dropFields(_CORRUPT))
    nothing = F.when(value.isNull(), F.lit("there is no value"))
    unreadable = F.lit(f"this is not JSON of the declared columns ({declaration.schema})")
    if not declaration.inferred:
        return Decoded(row, nothing.when(~readable, unreadable))
    # An object with other types. A value that is not an object is not a question of columns.
    other = F.when(F.json_object_keys(text).isNotNull(), F.lit(f"{MISFIT} ({declaration.schema})")).otherwise(unreadable)
    # Spark merges conditions into filters and evaluates an expression each time it occurs: so keep
    # their number small.
    reason = nothing.when(~readable, other)
    return Decoded(row, reason, JsonFields(struct(declaration.schema).jsonValue(), text))


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F

    # Write nulls explicitly: readers can tell a null field from one that the writer does not know.
    return F.to_json(F.struct(*map(quoted, columns)), {"ignoreNullFields": "false"})
