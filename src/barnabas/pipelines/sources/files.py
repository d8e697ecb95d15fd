"""Files dropped into a folder.

    drops: {files: {path: in/, format: csv}, schema: "account STRING, amount DOUBLE"}

Each file is read once, whole, when it is first seen: write it elsewhere and move it in. Without a schema the files that are there at the
first start are looked at. Beside its columns a row has ``_file``, where it came from.

format     a row is                              a bad one is
========   ===================================   ===========================================================
csv        a line; ``header`` (true) is checked   one with other values than the schema's
json       a line with an object                 the same
text       a line, in the column ``value``       none
parquet    a row                                 a file that is none: ``tolerance: all`` leaves it out

``tolerance`` and ``dead_letters`` are those of topics; a dead letter of a line has the file in its headers instead of a position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.formats.decoding import UNDECODABLE_MARK, Undecodable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

DECODES = True  # not by the formats of records, but with their schema, tolerance and dead letters
FORMATS = ("csv", "json", "parquet", "text")
_LINES = ("csv", "json")
_CORRUPT = "_corrupt"


@dataclass(frozen=True, slots=True)
class FilesSettings:
    path: str
    format: str
    header: bool  # of CSV: the first line names the columns
    separator: str
    pattern: str | None  # a glob on the names
    rate: int | None  # files in one batch at most
    recursive: bool
    options: dict[str, str]  # of Spark's reader, as they are
    dead_letters: bool


def declare(fields: Fields) -> FilesSettings:
    own = fields.nested("files")
    settings = FilesSettings(
        path=own.text("path"),
        format=own.choice("format", FORMATS, default="json"),
        header=own.flag("header", default=True),
        separator=own.optional_text("separator") or ",",
        pattern=own.optional_text("pattern"),
        rate=own.optional_integer("rate", minimum=1),
        recursive=own.flag("recursive", default=False),
        options=own.optional_texts_by_name("options"),
        dead_letters="dead_letters" in fields,
    )
    if "format" in fields:
        raise fields.error(f"the format of {fields.what} is that of its files: it stands inside 'files'.", "format")
    own.end()
    return settings


def packages(settings: object) -> tuple[str, ...]:
    """Files need nothing; dead letters go to a topic."""
    assert isinstance(settings, FilesSettings)
    return ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",) if settings.dead_letters else ()


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    from pyspark.sql import functions as F

    settings = declaration.settings
    assert isinstance(settings, FilesSettings)
    schema = _schema(session, declaration, settings, context)
    reader = session.readStream.format(settings.format).options(**_options(settings, declaration))
    if settings.rate is not None:
        reader = reader.option("maxFilesPerTrigger", settings.rate)
    reader = reader.schema(f"{schema}, {_CORRUPT} STRING" if settings.format in _LINES else schema)
    whole = reader.load(settings.path).select("*", F.col("_metadata.file_path").alias("_file"))
    return _readable(whole, declaration, context, schema) if settings.format in _LINES else whole


def _readable(whole: DataFrame, declaration: SourceDeclaration, context: RunContext, schema: str) -> DataFrame:
    from pyspark.sql import functions as F

    assert declaration.decoding is not None
    reason = f"this line is not of the declared columns ({schema})"
    if declaration.decoding.tolerance == "none":
        said = F.concat(F.lit(f"{UNDECODABLE_MARK}{declaration.name}|at "), F.col("_file"), F.lit(f"|{reason}: "), F.col(_CORRUPT))
        good = whole.where(F.when(F.col(_CORRUPT).isNull(), F.lit(True)).otherwise(F.raise_error(said).cast("boolean")))
        return good.drop(_CORRUPT)
    # What could be read is part of the reason also because Spark refuses to read a file for the sake of this one column alone.
    columns = [name for name in whole.columns if name not in (_CORRUPT, "_file")]
    understood = F.to_json(F.struct(*(f"`{name}`" for name in columns)))
    bad = whole.where(F.col(_CORRUPT).isNotNull()).select(
        F.col(_CORRUPT).cast("binary").alias("value"),
        F.concat(F.lit(f"{reason}; understood was "), understood).alias("reason"),
        F.col("_file").alias("file"),
    )
    context.undecodable.append(Undecodable(declaration, bad))
    return whole.where(F.col(_CORRUPT).isNull()).drop(_CORRUPT)


def _schema(session: SparkSession, declaration: SourceDeclaration, settings: FilesSettings, context: RunContext) -> str:
    """Declared; or found at the first start, and kept, because files of another shape do not change what the state was made with."""
    assert declaration.decoding is not None
    if settings.format == "text":
        return "value STRING"
    if declaration.decoding.format.schema is not None:
        return declaration.decoding.format.schema
    kept = context.kept(f"schemas/{declaration.name}")
    schema = kept.read()
    if schema is None:
        reader = session.read.format(settings.format).options(**_options(settings, declaration))
        try:
            found = reader.option("inferSchema", "true").load(settings.path).schema
        except Exception as wrong:
            raise CannotRun(
                f"The columns of source {declaration.name!r} cannot be inferred from the files in {settings.path}; declare its 'schema'."
            ) from wrong
        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in found.fields)
        if not schema:
            raise CannotRun(
                f"The columns of source {declaration.name!r} cannot be inferred, because {settings.path} is empty; declare its 'schema'."
            )
        kept.write(schema)
    return schema


def _options(settings: FilesSettings, declaration: SourceDeclaration) -> dict[str, str]:
    assert declaration.decoding is not None
    options = {"recursiveFileLookup": str(settings.recursive).lower(), **settings.options}
    if settings.pattern is not None:
        options["pathGlobFilter"] = settings.pattern
    if settings.format in _LINES:
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    if settings.format == "csv":
        # A header with other names than the schema's is an error, not a line that is lost.
        options |= {"header": str(settings.header).lower(), "enforceSchema": "false", "sep": settings.separator, "escape": '"'}
    if settings.format == "parquet":
        options["ignoreCorruptFiles"] = str(declaration.decoding.tolerance == "all").lower()
    return options
