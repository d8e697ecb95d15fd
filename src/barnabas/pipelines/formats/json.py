"""JSON objects, one per record.

Numbers that do not fit, texts where numbers were declared and half objects are all undecodable: Spark's permissive mode would make nulls
of them, and a sum over nulls is wrong without anybody knowing. Fields that are missing are null, and fields that were not declared are
ignored, so producers may add fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.pipelines.formats import Decoded, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration

_CORRUPT = "_corrupt"


def declare(fields: Fields) -> None:
    return None


def infer(values: DataFrame, declaration: FormatDeclaration) -> str | None:
    from pyspark.sql import functions as F

    texts = (
        values.where(F.col("value").isNotNull())
        .select(F.try_validate_utf8(F.col("value").cast("string")).alias("text"))
        .where(F.col("text").isNotNull())
    )
    read = values.sparkSession.read.option("mode", "DROPMALFORMED").json(texts.rdd.map(lambda row: row[0]))
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in read.schema.fields)


def decode(value: Column, declaration: FormatDeclaration) -> Decoded:
    from pyspark.sql import functions as F

    assert declaration.schema is not None, "inferred before"
    # Null when it is not UTF-8, which is then not JSON either; ``decode`` would stop the query.
    text = F.try_validate_utf8(value.cast("string"))
    parsed = F.from_json(text, f"{declaration.schema}, {_CORRUPT} STRING", {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT})
    readable = parsed.isNotNull() & parsed.getField(_CORRUPT).isNull()
    reason = F.when(value.isNull(), F.lit("there is no value")).when(
        ~readable, F.concat(F.lit("this is not JSON of the declared columns ("), F.lit(declaration.schema), F.lit(")"))
    )
    return Decoded(F.when(readable, parsed.dropFields(_CORRUPT)), reason)


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F

    # A field that is null is said to be null: readers can tell it from one that the writer does not know.
    return F.to_json(F.struct(*map(quoted, columns)), {"ignoreNullFields": "false"})
