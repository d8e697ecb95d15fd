"""Spark's record of a query, on any of Hadoop's file systems.

commits/41                 batch 41 is done
offsets/41                 a version, the settings of the batch, then a line for each source:
                           the position it has reached when batch 41 is done
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.kept_text import KeptText

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEADER_LINES = 2  # of a batch's offsets, before the lines of its sources


class QueryCheckpoint:
    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self._folder = folder
        jvm: Any = session._jvm  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        self._path = jvm.org.apache.hadoop.fs.Path
        self._files = self._path(folder).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def names(self, folder: str) -> list[str]:
        where = self._path(f"{self._folder}/{folder}")
        return [str(each.getPath().getName()) for each in self._files.listStatus(where)] if self._files.exists(where) else []

    def text(self, name: str) -> str | None:
        return KeptText(self._session, f"{self._folder}/{name}").read()

    def reached(self) -> list[Any]:
        """The end of the last finished batch for every source, as Spark wrote it; empty before the
        first."""
        batch = max((int(name) for name in self.names("commits") if name.isdecimal()), default=None)
        offsets = None if batch is None else self.text(f"offsets/{batch}")
        return [] if offsets is None else [_parsed(line) for line in offsets.splitlines()[_HEADER_LINES:]]


def topic_offsets(reached: list[Any], topic: str) -> dict[int, int] | None:
    """The next offset of each partition; the earliest if several sources of a query read the topic.
    None if none does."""
    found = [source[topic] for source in reached if isinstance(source, dict) and isinstance(source.get(topic), dict)]
    if not found:
        return None
    partitions = set.intersection(*({int(each) for each in offsets} for offsets in found))
    return {each: min(int(offsets[str(each)]) for offsets in found) for each in partitions}


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
