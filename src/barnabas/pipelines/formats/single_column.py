"""The common part of text and bytes: a record's value is one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.formats import quoted

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.format_declaration import FormatDeclaration

DEFAULT_COLUMN = "value"


def column_name(declaration: FormatDeclaration) -> str:
    return declaration.schema.split()[0].strip("`") if declaration.schema else DEFAULT_COLUMN


def only(columns: Sequence[str], format_name: str) -> str:
    if len(columns) != 1:
        raise CannotRun(
            f"A record in the format {format_name} has one column, not {len(columns)} ({', '.join(columns)}); name it in 'value'."
        )
    return quoted(columns[0])
