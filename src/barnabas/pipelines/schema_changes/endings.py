"""Decides whether a query ended because a source's columns changed.

Sources report a change in two ways. A source that checks the columns itself raises
``SchemaChanged`` or ``SchemaTakenOver`` in the driver, which comes back from Spark as text. A
record that does not fit fails in a task, as an undecodable record with the reason that the columns
may be out of date. And Spark's readers of CSV and Parquet refuse files whose header or types differ
from the schema.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from barnabas.pipelines.errors import SchemaChanged
from barnabas.pipelines.formats import MISFIT
from barnabas.pipelines.running.sentences import text_of, undecodable
from barnabas.pipelines.schema_changes.remembered import changed
from barnabas.pipelines.sources.unread_files import plain_path

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

_CHANGED = re.compile(r"barnabas\.pipelines\.errors\.SchemaChanged: (.+)")
_CSV_HEADER = re.compile(
    r"CSV header does not conform to the schema\.\s+Header: (?P<header>[^\n]*)\s+Schema: (?P<schema>[^\n]*)\n"
    r"(?:[^\n]*\n)*?\s*CSV file: (?P<file>\S+)"
)
_CSV_LENGTH = re.compile(
    r"Number of column in CSV header is not equal[^\n]*\s+Header length: (?P<header>\d+), schema size: (?P<schema>\d+)"
    r"\s+CSV file: (?P<file>\S+)"
)
_PARQUET = re.compile(
    r"while reading file (?P<file>\S+?)\.? Data type mismatches when reading Parquet column \[(?P<column>[^\]]*)\]\."
    r" Expected Spark type (?P<expected>[^,]+), actual Parquet type (?P<found>\w+)"
)
_TAKEN_OVER = "barnabas.pipelines.errors.SchemaTakenOver: "


@dataclass(frozen=True, slots=True)
class SchemaEnding:
    error: SchemaChanged
    taken_over: bool = False  # the new columns are remembered already
    source: SourceDeclaration | None = None  # set when its new columns are still to be found


def ending_of(error: BaseException, pipeline: PipelineDeclaration) -> SchemaEnding | None:
    text = text_of(error)
    if _TAKEN_OVER in text:
        return SchemaEnding(SchemaChanged(text.rpartition(_TAKEN_OVER)[2].partition("\n")[0]), taken_over=True)
    if found := _CHANGED.search(text):
        return SchemaEnding(SchemaChanged(found[1]))
    if (file := _refused_file(text)) is not None:
        return _of_file(*file, pipeline)
    record = undecodable(text)
    source = None if record is None else next((each for each in pipeline.sources if each.name == record.source), None)
    if record is None or source is None or not record.reason.startswith(MISFIT):
        return None
    return SchemaEnding(changed(source, pipeline.path, f"a record ({record.position}): {record.reason.rstrip('.')}"), source=source)


def _refused_file(text: str) -> tuple[str, str] | None:
    """Its path, and Spark's error about it."""
    if (header := _CSV_HEADER.search(text)) is not None:
        return header["file"], f"the header is {header['header']!r} and not {header['schema']!r}"
    if (length := _CSV_LENGTH.search(text)) is not None:
        return length["file"], f"the header has {length['header']} columns and not {length['schema']}"
    if (column := _PARQUET.search(text)) is not None:
        return column["file"], f"column {column['column']!r} is {column['found']} and not {column['expected']}"
    return None


def _of_file(file: str, what: str, pipeline: PipelineDeclaration) -> SchemaEnding | None:
    """The source is the one whose folder holds the file; a file below the folder of a sink or of a
    landing does not count."""
    path = plain_path(unquote(file))
    for source in pipeline.sources:
        if source.kind == "files" and is_below(path, getattr(source.settings, "path", "")):
            sentence = f"file {path} does not have the remembered columns: {what}"
            return (
                SchemaEnding(changed(source, pipeline.path, sentence), source=source)
                if is_inferred(source)
                else _declared(source, path, what)
            )
    return None


def _declared(source: SourceDeclaration, path: str, what: str) -> SchemaEnding:
    sentence = f"source {source.name!r}: file {path} does not have the declared columns: {what}; change 'schema', or the file."
    return SchemaEnding(SchemaChanged(f"{source.place.path}:{source.place.line}: {sentence}"))


def is_below(path: str, folder: str) -> bool:
    """``folder`` as it is declared: relative, with a scheme, or with stars."""
    fixed, *stars = re.split(r"[*?\[{]", plain_path(folder), maxsplit=1)
    base = fixed if "://" in fixed else os.path.abspath(fixed)
    return path.startswith(base if stars else base.rstrip("/") + "/")


def is_inferred(source: SourceDeclaration) -> bool:
    return source.decoding is not None and source.decoding.format.schema is None
