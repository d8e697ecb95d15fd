"""Finds the columns of each Parquet file: Spark reads a column that a file lacks as null, and
ignores one that the schema lacks.

Tasks read the footer of every file they read, once. They can do that for files that Python can
open, that is, on local and mounted disks; files behind ``s3a:`` and the like are read without this
check. A column with another type than remembered stops Spark's own reader, wherever the file is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.kept_text import local_path
from barnabas.pipelines.schema_changes.columns import Struct, columns
from barnabas.pipelines.schema_changes.merging import Presence, marked, merged, news
from barnabas.pipelines.schema_changes.remembered import as_struct
from barnabas.pipelines.sources.unread_files import spark_path

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructType

# A footer is read in some milliseconds; with more files than this, only the first ones by name are
# checked.
FILES_LOOKED_AT_MAX = 200
LOOK = "missing STRING, unknown ARRAY<STRING>"


def look(path: Column, schema: Struct) -> Column:
    """For the file at ``path``: the first required column it lacks, or null, and the columns that
    the schema lacks."""
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    required = [each.name for each in columns(schema) if each.required]
    known = {each.name for each in columns(schema)}
    looked_at: dict[str, tuple[str | None, list[str]]] = {}

    def looked(paths: pd.Series) -> pd.DataFrame:
        for each in paths.unique():
            if each not in looked_at:
                found = names_in(each)
                lacks = None if found is None else next((name for name in required if name not in found), None)
                looked_at[each] = lacks, [] if found is None else sorted(found - known)
        return pd.DataFrame([looked_at[each] for each in paths], columns=["missing", "unknown"])

    # Spark needs the types themselves, not their names.
    looked.__annotations__ = {"paths": pd.Series, "return": pd.DataFrame}
    # Otherwise Spark filters rows before this function, by columns that may be missing, and a file
    # whose rows are all filtered is never checked.
    udf: Any = pandas_udf(looked, LOOK)  # type: ignore[call-overload]
    column: Column = udf.asNondeterministic()(path)
    return column


def names_in(path: str) -> set[str] | None:
    """The names of a file's columns and of the folders that are columns (``zone=a``); None when
    this process cannot read the file."""
    from urllib.parse import unquote

    import pyarrow.parquet

    here = local_path(unquote(path))
    if here is None:
        return None
    try:
        schema = pyarrow.parquet.read_schema(here)
    except (OSError, pyarrow.ArrowInvalid):
        return None  # Spark's reader reports the error
    return set(_names(schema, "")) | {part.partition("=")[0] for part in here.split("/") if "=" in part}


def _names(fields: Iterable[Any], prefix: str) -> Iterable[str]:
    import pyarrow.types

    for field in fields:
        yield prefix + field.name
        if pyarrow.types.is_struct(field.type):
            yield from _names(field.type, f"{prefix}{field.name}.")


def infer(session: SparkSession, files: list[str], options: dict[str, str]) -> StructType:
    """The columns of all files; those that all of them have are required."""
    schemas = _schemas(session, files, options)
    union = _union(schemas)
    return as_struct(marked(union, _presence(schemas, union)))


def reinfer(
    session: SparkSession,
    unread: list[str],
    files: list[str],
    known: StructType,
    wanted: Callable[[str], bool],
    options: dict[str, str],
) -> StructType:
    """Like :func:`barnabas.pipelines.formats.json.reinfer`, with files in place of records."""
    schemas = _schemas(session, unread, options)
    names = {each.name for each in columns(known.jsonValue())}
    # The newest names last, as most writers count upwards.
    read = _schemas(session, sorted(set(files) - set(unread))[-FILES_LOOKED_AT_MAX:], options)
    sampled = merged(_union(schemas), news(_union(read), names, wanted), {})
    return as_struct(merged(known.jsonValue(), sampled, _presence(schemas, known.jsonValue(), sampled)))


def _schemas(session: SparkSession, files: list[str], options: dict[str, str]) -> list[Struct]:
    reader = session.read.options(**options)
    return [reader.parquet(spark_path(each)).schema.jsonValue() for each in files[:FILES_LOOKED_AT_MAX]]


def _union(schemas: list[Struct]) -> Struct:
    return reduce(lambda first, second: merged(first, second, {}), schemas, {"type": "struct", "fields": []})


def _presence(schemas: list[Struct], *over: Struct) -> dict[str, Presence]:
    names = [{each.name for each in columns(schema)} for schema in schemas]
    return {column.name: Presence(len(names), sum(column.name in each for each in names)) for schema in over for column in columns(schema)}
