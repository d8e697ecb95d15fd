"""A batch as changes of a table with keys: one row per key, the latest, and whether it deletes the
key.

``latest_by``, SQL over the columns, decides which row is the latest. Without it the order in the
topic counts, if the rows still have it (``_offset``); otherwise one row is chosen, always the same
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.sinks import Check, has_columns, selects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.declaration.fields import Fields

DELETED = "barnabas_deleted"


@dataclass(frozen=True, slots=True)
class ChangeSettings:
    keys: tuple[str, ...]  # none: every row is a new one
    latest_by: str | None
    delete: str | None  # SQL, a condition: rows that meet it delete their key


def declare_changes(own: Fields, keys: str) -> ChangeSettings:
    """``keys`` is the name of the field with the key columns."""
    settings = ChangeSettings(own.optional_texts(keys) or (), own.optional_text("latest_by"), own.optional_text("delete"))
    for name, value in (("latest_by", settings.latest_by), ("delete", settings.delete)):
        if value is not None and not settings.keys:
            own.report(f"{name!r} of {own.what} needs {keys!r}, because without keys no row replaces another.", name)
    return settings


def change_checks(frame: DataFrame, settings: ChangeSettings, kind: str, keys: str) -> Iterable[Check]:
    """``kind`` is the sink's field, and ``keys`` that of the keys inside it."""
    if settings.keys:
        yield (kind, keys), has_columns(frame, settings.keys)
    if settings.latest_by is not None:
        yield (kind, "latest_by"), selects(frame, settings.latest_by)
    if settings.delete is not None:
        yield (kind, "delete"), selects(frame, settings.delete, "BOOLEAN")


def changed_rows(batch: DataFrame, settings: ChangeSettings) -> DataFrame:
    """The columns without an underscore in front, and ``barnabas_deleted`` (0 or 1)."""
    from pyspark.sql import functions as F

    columns = [name for name in batch.columns if not name.startswith("_")]
    if missing := [name for name in settings.keys if name not in columns]:
        raise CannotRun(f"The key {missing[0]!r} is not among the columns {', '.join(columns)}.")
    deleted = F.lit(0) if settings.delete is None else F.when(F.coalesce(F.expr(settings.delete), F.lit(False)), 1).otherwise(0)
    rows = batch.withColumn(DELETED, deleted.cast("int"))
    chosen = [*columns, DELETED]
    if not settings.keys:
        return rows.select(*(f"`{name}`" for name in chosen))
    if settings.latest_by is not None:
        order = F.expr(settings.latest_by)
    elif "_offset" in batch.columns:
        order = F.col("_offset")
    else:
        order = F.xxhash64(*(f"`{name}`" for name in columns))
    latest = rows.groupBy(*(f"`{name}`" for name in settings.keys)).agg(
        F.max_by(F.struct(*(f"`{name}`" for name in chosen)), order).alias("_latest")
    )
    return latest.select("_latest.*")
