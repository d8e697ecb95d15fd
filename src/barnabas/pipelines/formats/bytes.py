"""Bytes without decoding. The one column is called ``value`` unless the schema names it (``schema:
image BINARY``).
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
    """No record is undecodable, not even one without a value: that is a null."""
    from pyspark.sql import functions as F

    return Decoded(F.struct(value.alias(column_name(declaration))), F.lit(None).cast("string"))


def encode(columns: Sequence[str], declaration: FormatDeclaration) -> Column:
    from pyspark.sql import functions as F

    return F.col(only(columns, "bytes")).cast("binary")
