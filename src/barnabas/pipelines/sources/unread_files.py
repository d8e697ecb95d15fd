"""Files of a folder that some sink has not finished: an accepted change of columns must fit
them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from barnabas.pipelines.sources.finished_files import FinishedFiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from barnabas.pipelines.context import RunContext

_FILE_SCHEME = re.compile(r"^file:/+")


def all_files(session: SparkSession, path: str, options: Mapping[str, str]) -> list[str]:
    """Listed by Spark as in its streams; no content is read."""
    wanted = {name: options[name] for name in ("pathGlobFilter", "recursiveFileLookup") if name in options}
    listed = session.read.format("binaryFile").options(**wanted).load(path).select("path").collect()
    return sorted(plain_path(row[0]) for row in listed)


def unread_files(session: SparkSession, files: list[str], context: RunContext) -> list[str]:
    """A sink that has finished other files and none of these does not read this folder."""
    unread: set[str] = set()
    for sink in context.pipeline.sinks:
        finished = {plain_path(each) for each in FinishedFiles(session, context.checkpoint_of(sink.name)).paths()}
        if not finished or not finished.isdisjoint(files):
            unread |= set(files) - finished
    return sorted(unread)


def spark_path(plain: str) -> str:
    return f"file:{plain}" if plain.startswith("/") else plain


def plain_path(path: str) -> str:
    """Spark writes ``file:/in/1.csv`` in some places and ``file:///in/1.csv`` in others."""
    return _FILE_SCHEME.sub("/", path)
