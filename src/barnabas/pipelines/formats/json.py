"""JSON objects, one per record.

Numbers that do not fit, texts where numbers were declared and half objects are all undecodable: Spark's permissive mode would make nulls
of them, and a sum over nulls is wrong without anybody knowing.

Where the columns are declared, fields that are missing are null, and fields that were not declared are ignored: producers may add fields.
Where they are inferred, a field is required when every record of the sample had it, and a record without it is undecodable: its null would
look like a value. Fields that the sample did not have are counted, so that they can be announced.
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
# Of each kind of record that is looked at when columns are inferred again: as many as at the first start.
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
    """Looks at all of ``unread``. The types come from a sample: of records that fit, of those that do not, and of recent ones with new
    fields."""
    from pyspark.sql import functions as F

    before = known.jsonValue()
    decoded = decode(F.col("value"), replace(declaration, schema=ddl(before), inferred=True))

    def told(records: DataFrame) -> DataFrame:
        return with_reason(records, decoded, ["value"], decoded.reason)

    fits = F.col("_reason").isNull() & (F.size("_unknown") == 0)
    sampled = _sampled(told(unread).where(fits), told(unread).where(~fits))
    names = {each.name for each in columns(before)}
    sampled = merged(sampled, news(_sampled(told(recent).where(F.size("_unknown") > 0)), names, wanted), {})
    present = presence(_texts(unread), merged(before, sampled, {}))
    return as_struct(merged(before, sampled, present))


def _sampled(*frames: DataFrame) -> Struct:
    """Fields of which only nulls are seen are left out: they say nothing about their type."""
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
    # Null when it is not UTF-8, which is then not JSON either; ``decode`` would stop the query.
    text = F.try_validate_utf8(value.cast("string"))
    own = declaration.settings if isinstance(declaration.settings, dict) else {}  # of a source of files, which has Spark's reader's options
    options = {**own, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = F.from_json(text, f"{declaration.schema}, {_CORRUPT} STRING", options)
    readable = parsed.isNotNull() & parsed.getField(_CORRUPT).isNull()
    row = F.when(readable, parsed.dropFields(_CORRUPT))
    nothing = F.when(value.isNull(), F.lit("there is no value"))
    unreadable = F.lit(f"this is not JSON of the declared columns ({declaration.schema})")
    if not declaration.inferred:
        return Decoded(row, nothing.when(~readable, unreadable))
    # An object of other types; what is no object at all is no matter of columns.
    other = F.when(F.json_object_keys(text).isNotNull(), F.lit(f"{MISFIT} ({declaration.schema})")).otherwise(unreadable)
    # Spark puts conditions together into filters, where it evaluates an expression wherever it stands: the fewer stand there, the better.
    reason = nothing.when(~readable, other)
    return Decoded(row, reason, JsonFields(struct(declaration.schema).jsonValue(), text))


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F

    # A field that is null is said to be null: readers can tell it from one that the writer does not know.
    return F.to_json(F.struct(*map(quoted, columns)), {"ignoreNullFields": "false"})
