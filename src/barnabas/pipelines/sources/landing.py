"""Rows on their way from something that Spark cannot stream (a database) to something it can: files beside the checkpoint.

    -landed/<source>/rows/00000000000000000007.parquet    the rows of the seventh poll
    -landed/<source>/positions/00000000000000000007       where the eighth goes on
    -landed/<source>/staging/                             a poll under way

A poll writes its rows to staging, then its position, then moves the rows: that move is the moment they have landed. Whatever is cut off
before it is done again from the same position, and what was done after it is not, so every row lands exactly once. A batch that is run
again reads the same files, even when the rows in the database have changed since: that is what exactly-once sinks need. Files that landed
stay, for sinks that are added later, unless they are older than ``keep_ms``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.kept_text import KeptText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SUFFIX = ".parquet"


class Landing:
    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self._folder = folder
        jvm: Any = session._jvm  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        self._path = jvm.org.apache.hadoop.fs.Path
        self._files = self._path(folder).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
        self._files.mkdirs(self._path(self.rows))

    @property
    def rows(self) -> str:
        return f"{self._folder}/rows"

    @property
    def _staging(self) -> str:
        return f"{self._folder}/staging"

    def position(self) -> str | None:
        """Where the last poll that landed ended; None before the first."""
        last = self._last()
        return None if last is None else self._position(last).read()

    def stage(self, rows: DataFrame) -> DataFrame:
        """Runs the query, once; the answer reads what it wrote."""
        # One file, because one file can be moved in one step.
        rows.coalesce(1).write.mode("overwrite").parquet(self._staging)
        return self._session.read.schema(rows.schema).parquet(self._staging)

    def land(self, position: str) -> None:
        number = (self._last() or 0) + 1
        self._position(number).write(position)
        (part,) = (
            each.getPath() for each in self._files.listStatus(self._path(self._staging)) if each.getPath().getName().endswith(_SUFFIX)
        )
        moved = self._files.rename(part, self._path(f"{self.rows}/{number:020d}{_SUFFIX}"))
        assert moved, f"{part.toString()} was not moved, though nothing is in its way"

    def forget(self, keep_ms: int) -> None:
        """The last one stays: its number is the next one's."""
        oldest_ms = time.time() * 1000 - keep_ms
        for number, modified_ms in self._landed()[:-1]:
            if modified_ms < oldest_ms:
                self._files.delete(self._path(f"{self.rows}/{number:020d}{_SUFFIX}"), False)
                self._files.delete(self._path(self._position(number).path), False)

    def _last(self) -> int | None:
        landed = self._landed()
        return landed[-1][0] if landed else None

    def _landed(self) -> list[tuple[int, int]]:
        """Numbers, and when they landed."""
        found = ((each.getPath().getName(), each.getModificationTime()) for each in self._files.listStatus(self._path(self.rows)))
        return sorted((int(name.removesuffix(_SUFFIX)), modified_ms) for name, modified_ms in found if name.endswith(_SUFFIX))

    def _position(self, number: int) -> KeptText:
        return KeptText(self._session, f"{self._folder}/positions/{number:020d}")
