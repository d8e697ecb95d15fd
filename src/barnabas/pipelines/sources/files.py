"""Files dropped into a folder.

    drops: {files: {path: in/, format: csv}, schema: "account STRING, amount DOUBLE"}

Each file is read once, whole, when it is first seen: write it elsewhere and move it in. Without a
schema, the columns are inferred from the files that exist at the first start, and remembered.
Beside its columns a row has ``_file``, the path of its file.

format    a row is                               a bad one is
=======   ====================================   ===================================================
csv       a line; ``header`` (true) is checked   one whose values do not fit the schema
json      a line with an object                  the same
text      a line, in the column ``value``        none
parquet   a row                                  a file that is not Parquet: ``tolerance: all``
                                                 leaves it out

``tolerance`` and ``dead_letters`` are those of topics; a dead letter of a line has the file in its
headers in place of a position.

Files whose columns differ from the remembered ones, before the change is accepted:

format    a column or field is missing       a new column or field
=======   ================================   =======================================================
csv       stops at the file's header         the same: values are found by their place in a line
json      stops at the line, if all had it   announced (not with the option multiLine, where only
                                             types are checked)
parquet   stops at the file, if all had it   announced
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.formats import MISFIT, json as json_format, with_reason
from barnabas.pipelines.formats.decoding import Undecodable, note_unknown, stop
from barnabas.pipelines.schema_changes.columns import SchemaChange, ddl
from barnabas.pipelines.schema_changes.merging import optional
from barnabas.pipelines.schema_changes.remembered import RememberedSchema, struct
from barnabas.pipelines.sources import parquet_columns
from barnabas.pipelines.sources.unread_files import all_files, spark_path, unread_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

DECODES = True  # with the schema, tolerance and dead letters of records, but not their formats
REMEMBERS_SCHEMA = True
FORMATS = ("csv", "json", "parquet", "text")
_LINES = ("csv", "json")
_CORRUPT = "_corrupt"


@dataclass(frozen=True, slots=True)
class FilesSettings:
    path: str
    format: str
    header: bool  # for CSV: the first line names the columns
    separator: str
    pattern: str | None  # a glob on the names
    rate: int | None  # files in one batch at most
    recursive: bool
    options: dict[str, str]  # passed on to Spark's reader
    dead_letters: bool


def declare(fields: Fields) -> FilesSettings:
    own = fields.nested("files")
    settings = FilesSettings(
        path=own.text("path"),
        format=own.choice("format", FORMATS, default="json"),
        header=own.flag("header", default=True),
        separator=own.text("separator", default=","),
        pattern=own.optional_text("pattern"),
        rate=own.optional_integer("rate", minimum=1),
        recursive=own.flag("recursive", default=False),
        options=own.optional_texts_by_name("options"),
        dead_letters="dead_letters" in fields,
    )
    if "format" in fields:
        fields.report(f"the format of {fields.what} belongs inside 'files'.", "format")
    own.end()
    return settings


def packages(settings: object) -> tuple[str, ...]:
    """Files need no packages; dead letters go to a topic."""
    assert isinstance(settings, FilesSettings)
    return ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",) if settings.dead_letters else ()


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, FilesSettings)
    assert declaration.decoding is not None
    schema = _schema(session, declaration, settings, context)
    inferred = settings.format != "text" and declaration.decoding.format.schema is None
    if inferred and declaration.schema_changes == "accept":
        schema = ddl(optional(struct(schema).jsonValue()))
    reader = session.readStream.options(**_options(settings, declaration))
    if settings.rate is not None:
        reader = reader.option("maxFilesPerTrigger", settings.rate)
    match settings.format:
        case "json" if inferred and settings.options.get("multiLine", "false").lower() != "true":
            lines = reader.format("text").load(settings.path)
            return _decoded_lines(_with_file(lines), declaration, context, schema)
        case "csv" | "json":
            whole = _with_file(reader.format(settings.format).schema(f"{schema}, {_CORRUPT} STRING").load(settings.path))
            return _readable(whole, declaration, context, schema)
        case "parquet" if inferred:
            return _checked_columns(_with_file(reader.format("parquet").schema(schema).load(settings.path)), declaration, schema)
    return _with_file(reader.format(settings.format).schema(schema).load(settings.path))


def accept(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
    settings = declaration.settings
    assert isinstance(settings, FilesSettings)
    remembered = RememberedSchema(declaration, context)
    known = remembered.read()
    if known is None:
        return ()
    options = _options(settings, declaration)
    files = all_files(session, settings.path, options)
    unread = unread_files(session, files, context)
    match settings.format:
        case "csv":
            found = _csv_columns(session, unread, options, declaration) if unread else known
        case "parquet":
            found = parquet_columns.reinfer(session, unread, files, known, remembered.wants(), _parquet_options(settings))
        case _:
            found = _json_columns(session, files, unread, remembered, known)
    changes = remembered.changes(found)
    if changes:
        remembered.write(found)
    return changes


def _with_file(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return frame.select("*", F.col("_metadata.file_path").alias("_file"))


def _readable(whole: DataFrame, declaration: SourceDeclaration, context: RunContext, schema: str) -> DataFrame:
    from pyspark.sql import functions as F

    reason = f"this line does not have the declared columns ({schema})"
    # The decoded columns are part of the condition also because Spark refuses to read a file for
    # this one column alone.
    columns = [name for name in whole.columns if name not in (_CORRUPT, "_file")]
    understood = F.to_json(F.struct(*(f"`{name}`" for name in columns)))
    text = F.when(F.col(_CORRUPT).isNotNull(), F.concat(F.lit(f"{reason}; decoded: "), understood))
    with_reasons = whole.select("*", F.col(_CORRUPT).cast("binary").alias("_value"), text.alias("_reason"))
    return _tolerated(with_reasons, declaration, context).select(*columns, "_file")


def _decoded_lines(lines: DataFrame, declaration: SourceDeclaration, context: RunContext, schema: str) -> DataFrame:
    """JSON through the decoder of topics, which sees which fields a record has."""
    from pyspark.sql import functions as F

    assert declaration.decoding is not None
    settings = declaration.settings
    assert isinstance(settings, FilesSettings)
    declared = replace(declaration.decoding.format, kind="json", schema=schema, settings=settings.options, inferred=True)
    decoded = json_format.decode(F.col("_value"), declared)
    texts = lines.where(F.trim("value") != "").select("_file", F.col("value").cast("binary").alias("_value"))
    with_reasons = with_reason(texts, decoded, ["_file", "_value"], decoded.reason)
    good = note_unknown(_tolerated(with_reasons, declaration, context), declaration, F.col("_file"))
    return good.select("_row.*", "_file")


def _checked_columns(whole: DataFrame, declaration: SourceDeclaration, schema: str) -> DataFrame:
    from pyspark.sql import functions as F

    looked = whole.select("*", parquet_columns.look(F.col("_file"), struct(schema).jsonValue()).alias("_looked"))
    lacks = F.concat(F.lit(f"{MISFIT}: it lacks the column '"), F.col("_looked.missing"), F.lit("', which every file had before"))
    fits = F.when(F.col("_looked.missing").isNull(), F.lit(True)).otherwise(stop(declaration.name, F.col("_file"), lacks))
    good = looked.where(fits).withColumn("_unknown", F.col("_looked.unknown"))
    return note_unknown(good, declaration, F.col("_file")).drop("_looked", "_unknown")


def _tolerated(with_reasons: DataFrame, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    """Lines with a ``_reason`` stop the query, or are left out, or become dead letters."""
    from pyspark.sql import functions as F

    assert declaration.decoding is not None
    if declaration.decoding.tolerance == "none":
        text = F.concat(F.col("_reason"), F.lit(": "), F.col("_value").cast("string"))
        return with_reasons.where(F.when(F.col("_reason").isNull(), F.lit(True)).otherwise(stop(declaration.name, F.col("_file"), text)))
    bad = with_reasons.where(F.col("_reason").isNotNull()).select(
        F.col("_value").alias("value"), F.col("_reason").alias("reason"), F.col("_file").alias("file")
    )
    context.undecodable.append(Undecodable(declaration, bad))
    return with_reasons.where(F.col("_reason").isNull())


def _schema(session: SparkSession, declaration: SourceDeclaration, settings: FilesSettings, context: RunContext) -> str:
    """The declared schema, or the one inferred at the first start and remembered."""
    assert declaration.decoding is not None
    if settings.format == "text":
        return "value STRING"
    if declaration.decoding.format.schema is not None:
        return declaration.decoding.format.schema
    remembered = RememberedSchema(declaration, context)
    schema = remembered.read()
    if schema is None:
        try:
            schema = _first_columns(session, declaration, settings)
        except Exception as error:
            raise CannotRun(
                f"The columns of source {declaration.name!r} cannot be inferred from the files in {settings.path}; declare its 'schema'."
            ) from error
        if not schema.fields:
            raise CannotRun(
                f"The columns of source {declaration.name!r} cannot be inferred, because {settings.path} is empty; declare its 'schema'."
            )
        remembered.write(schema)
    return ddl(schema.jsonValue())


def _first_columns(session: SparkSession, declaration: SourceDeclaration, settings: FilesSettings) -> StructType:
    assert declaration.decoding is not None
    options = _options(settings, declaration)
    if settings.format == "parquet":
        return parquet_columns.infer(session, all_files(session, settings.path, options), _parquet_options(settings))
    if settings.format == "csv" or settings.options.get("multiLine", "false").lower() == "true":
        return session.read.format(settings.format).options(**options, inferSchema="true").load(settings.path).schema
    lines = session.read.options(**options).text(settings.path).where("trim(value) != ''").selectExpr("CAST(value AS BINARY) AS value")
    found = json_format.infer(lines, replace(declaration.decoding.format, kind="json", settings=settings.options))
    assert found is not None
    return struct(found)


def _csv_columns(session: SparkSession, unread: list[str], options: dict[str, str], declaration: SourceDeclaration) -> StructType:
    reader = session.read.format("csv").options(**options)
    headers = {tuple(reader.load(spark_path(each)).columns): each for each in unread}
    if len(headers) > 1:
        (first, of_first), (second, of_second), *_ = headers.items()
        raise CannotRun(
            f"The files that source {declaration.name!r} has not read yet have different headers, and CSV is read by the order of columns: "
            f"{of_first} has {', '.join(first)}, {of_second} has {', '.join(second)}; give them all the same header and accept again."
        )
    return reader.options(inferSchema="true").load([spark_path(each) for each in unread]).schema


def _json_columns(
    session: SparkSession, files: list[str], unread: list[str], remembered: RememberedSchema, known: StructType
) -> StructType:
    declaration = remembered.source
    settings = declaration.settings
    assert isinstance(settings, FilesSettings)
    assert declaration.decoding is not None

    def lines(paths: list[str]) -> DataFrame:
        if not paths:
            return session.createDataFrame([], "value BINARY")
        texts = session.read.options(**_options(settings, declaration)).text([spark_path(each) for each in paths])
        return texts.where("trim(value) != ''").selectExpr("CAST(value AS BINARY) AS value")

    declared = replace(declaration.decoding.format, kind="json", settings=settings.options)
    return json_format.reinfer(lines(unread), lines(files), known, remembered.wants(), declared)


def _parquet_options(settings: FilesSettings) -> dict[str, str]:
    """Folders below the path may be columns (``zone=a``)."""
    return dict(settings.options) if any(each in settings.path for each in "*?[{") else {**settings.options, "basePath": settings.path}


def _options(settings: FilesSettings, declaration: SourceDeclaration) -> dict[str, str]:
    assert declaration.decoding is not None
    options = {"recursiveFileLookup": str(settings.recursive).lower(), **settings.options}
    if settings.pattern is not None:
        options["pathGlobFilter"] = settings.pattern
    if settings.format in _LINES:
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    if settings.format == "csv":
        # A header with other names than the schema's is an error, not a lost line.
        options |= {"header": str(settings.header).lower(), "enforceSchema": "false", "sep": settings.separator, "escape": '"'}
    if settings.format == "parquet":
        options["ignoreCorruptFiles"] = str(declaration.decoding.tolerance == "all").lower()
    return options
