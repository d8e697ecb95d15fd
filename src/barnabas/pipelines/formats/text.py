"""Plain text in UTF-8. The one column is called ``value`` unless the schema names it (``schema:
line STRING``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.pipelines.formats import Decoded
from barnabas.pipelines.formats.single_column import column_name, only

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration


def declare(fields: Fields) -> None:
    return None


def infer(values: DataFrame, declaration: FormatDeclaration) -> str | None:
    return None


def decode(value: Column, declaration: FormatDeclaration) -> Decoded:
    from pyspark.sql import functions as F

    # Null when it is not UTF-8: Spark would insert replacement characters, which cannot be undone.
    text = F.try_validate_utf8(value.cast("string"))
    reason = F.when(value.isNull(), F.lit("there is no value")).when(text.isNull(), F.lit("this is not text in UTF-8"))
    return Decoded(F.struct(text.alias(column_name(declaration))), reason)


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F

    return F.col(only(columns, "text")).cast("string")
