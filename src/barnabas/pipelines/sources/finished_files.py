"""The files of a folder that a query has finished, according to its checkpoint.

    offsets/41                 of a source that reads files: {"logOffset": 7}
    sources/0/7                the files that source 0 found for its seventh offset, a line for each
    sources/0/9.compact        all up to its ninth

A file is finished when it belongs to an offset that the last finished batch has reached. A file
whose record cannot be read is not finished.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from barnabas.pipelines.sources.query_checkpoint import QueryCheckpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_LOG = re.compile(r"(\d+)(\.compact)?")


class FinishedFiles:
    def __init__(self, session: SparkSession, checkpoint: str) -> None:
        self._checkpoint = QueryCheckpoint(session, checkpoint)

    def names(self, folder: str) -> set[str]:
        """The names of finished files in a folder whose path ends like this."""
        found = (
            {path.rpartition("/")[2] for path in paths if path.rpartition("/")[0].endswith(folder)} for paths in self._of_each_source()
        )
        # A query that reads the folder twice has two sources for it; sources without any of its
        # files read other folders.
        return set.intersection(*ours) if (ours := [names for names in found if names]) else set()

    def paths(self) -> set[str]:
        """All finished files, of any source."""
        return set().union(*self._of_each_source())

    def _of_each_source(self) -> Iterator[set[str]]:
        for source, offset in enumerate(self._checkpoint.reached()):
            reached = _log_offset(offset)
            if reached is not None:
                yield {path for path, noted in self._noted(source) if noted <= reached}

    def _noted(self, source: int) -> Iterator[tuple[str, int]]:
        logs = [match for match in map(_LOG.fullmatch, self._checkpoint.names(f"sources/{source}")) if match is not None]
        compacted = max((int(match[1]) for match in logs if match[2]), default=-1)
        for match in logs:
            number = int(match[1])
            if number > compacted or (number == compacted and match[2]):
                text = self._checkpoint.text(f"sources/{source}/{match[0]}") or ""
                for line in text.splitlines()[1:]:
                    entry = json.loads(line)
                    yield unquote(str(entry["path"])), int(entry["batchId"])


def _log_offset(offset: Any) -> int | None:
    """None for a source that reads no files."""
    found = offset.get("logOffset") if isinstance(offset, dict) else None
    return found if isinstance(found, int) else None
