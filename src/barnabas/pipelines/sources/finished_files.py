"""Which files of a folder a query is done with, as its checkpoint tells.

    commits/41                 batch 41 is done
    offsets/41                 a version, how it was run, then a line for each source: {"logOffset": 7} for one that reads files
    sources/0/7                the files that source 0 found for its seventh offset, a line for each
    sources/0/9.compact        all up to its ninth

A file is done when it belongs to an offset that the last finished batch has reached. Whatever cannot be read is not done.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from barnabas.pipelines.kept_text import KeptText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_LOG = re.compile(r"(\d+)(\.compact)?")
_HEADER_LINES = 2  # of a batch's offsets, before the lines of its sources


class FinishedFiles:
    """``files`` is Hadoop's file system of the checkpoint, ``path`` makes its paths."""

    def __init__(self, session: SparkSession, files: Any, path: Any, checkpoint: str) -> None:
        self._session, self._files, self._path, self._checkpoint = session, files, path, checkpoint

    def names(self, folder: str) -> set[str]:
        """Of files in a folder whose path ends like this."""
        batch = max((int(name) for name in self._list("commits") if name.isdecimal()), default=None)
        offsets = None if batch is None else self._read(f"offsets/{batch}")
        if offsets is None:
            return set()
        found = [
            {
                path.rpartition("/")[2]
                for path, offset in self._noted(source)
                if offset <= reached and path.rpartition("/")[0].endswith(folder)
            }
            for source, line in enumerate(offsets.splitlines()[_HEADER_LINES:])
            if (reached := _reached(line)) is not None
        ]
        # A query that reads the folder twice has two sources for it; those without any of its files read other folders.
        return set.intersection(*ours) if (ours := [names for names in found if names]) else set()

    def _noted(self, source: int) -> Iterator[tuple[str, int]]:
        logs = [match for match in map(_LOG.fullmatch, self._list(f"sources/{source}")) if match is not None]
        compacted = max((int(match[1]) for match in logs if match[2]), default=-1)
        for match in logs:
            number = int(match[1])
            if number > compacted or (number == compacted and match[2]):
                text = self._read(f"sources/{source}/{match[0]}") or ""
                for line in text.splitlines()[1:]:
                    entry = json.loads(line)
                    yield unquote(str(entry["path"])), int(entry["batchId"])

    def _list(self, name: str) -> list[str]:
        where = self._path(f"{self._checkpoint}/{name}")
        return [str(each.getPath().getName()) for each in self._files.listStatus(where)] if self._files.exists(where) else []

    def _read(self, name: str) -> str | None:
        return KeptText(self._session, f"{self._checkpoint}/{name}").read()


def _reached(line: str) -> int | None:
    """None for a source that reads no files."""
    try:
        offset = json.loads(line)
    except ValueError:
        return None
    found = offset.get("logOffset") if isinstance(offset, dict) else None
    return found if isinstance(found, int) else None
