"""Rows on their way from a source that Spark cannot stream (a database) to one it can: files beside
the checkpoint.

    -landed/<source>/rows/00000000000000000007.parquet    the rows of the seventh poll
    -landed/<source>/positions/00000000000000000007       where the eighth continues
    -landed/<source>/staging/                             a poll in progress

A poll writes its rows to staging, then its position, then moves the rows: with that move they have
landed. A poll that is interrupted before it is repeated from the same position, and one interrupted
after it is not, so every row lands exactly once. A batch that runs again reads the same files, even
when the rows in the database have changed since, as exactly-once sinks require. A file is deleted
when all queries that read it have finished their batches with it and it is older than ``keep_ms``,
which is for sinks that are added later.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.kept_text import KeptText
from barnabas.pipelines.sources.finished_files import FinishedFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

_SUFFIX = ".parquet"
# Checkpoints are read when this many files may be obsolete, or twice as many as could not be
# deleted the last time.
_FORGOTTEN_MIN = 20


class Landing:
    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self._folder = folder
        jvm: Any = session._jvm  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        self._path = jvm.org.apache.hadoop.fs.Path
        self._files = self._path(folder).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
        self._files.mkdirs(self._path(self.rows))
        self._looked_at_next = 1  # the first check also finds leftovers of earlier runs

    @property
    def rows(self) -> str:
        return f"{self._folder}/rows"

    @property
    def _staging(self) -> str:
        return f"{self._folder}/staging"

    def position(self) -> str | None:
        """The position of the last poll that landed; None before the first."""
        last = self._last()
        return None if last is None else self._position(last).read()

    def stage(self, rows: DataFrame) -> DataFrame:
        """Runs the query, once; the result reads the staged rows."""
        # One file, because one file can be moved in one step.
        rows.coalesce(1).write.mode("overwrite").parquet(self._staging)
        return self._session.read.schema(rows.schema).parquet(self._staging)

    def land(self, position: str) -> None:
        number = (self._last() or 0) + 1
        self._position(number).write(position)
        (part,) = (
            each.getPath() for each in self._files.listStatus(self._path(self._staging)) if each.getPath().getName().endswith(_SUFFIX)
        )
        moved = self._files.rename(part, self._path(f"{self.rows}/{_name(number)}"))
        assert moved, f"{part.toString()} was not moved, though nothing is in its way"

    def land_nothing(self) -> None:
        """A file without rows that carries the position. Its one column does not exist in the
        source, so that it fits every schema."""
        position = self.position()
        if position is not None:
            self.stage(self._session.createDataFrame([], "barnabas_nothing INT"))
            self.land(position)

    @property
    def is_empty(self) -> bool:
        return not self._landed()

    def is_read_by(self, readers: Sequence[str]) -> bool:
        """Whether every one of these queries has finished its batches with all landed rows."""
        landed = {_name(number) for number, _ in self._landed()}
        return all(landed <= self._finished(each) for each in readers)

    def forget_all_but_last(self) -> None:
        for number, _ in self._landed()[:-1]:
            self._delete(number)

    def forget(self, readers: Sequence[str], keep_ms: int) -> None:
        """``readers`` are the checkpoints of all queries that read the landed rows. The last file
        stays: the next number follows from its number."""
        landed = self._landed()[:-1]
        if not readers or len(landed) < self._looked_at_next:
            return
        finished = [self._finished(each) for each in readers]
        newest_ms = time.time() * 1000 - keep_ms
        gone = 0
        for number, modified_ms in landed:
            if modified_ms <= newest_ms and all(_name(number) in names for names in finished):
                self._delete(number)
                gone += 1
        self._looked_at_next = max(_FORGOTTEN_MIN, 2 * (len(landed) - gone))

    def _finished(self, reader: str) -> set[str]:
        return FinishedFiles(self._session, reader).names(self.rows)

    def _delete(self, number: int) -> None:
        self._files.delete(self._path(f"{self.rows}/{_name(number)}"), False)
        self._files.delete(self._path(self._position(number).path), False)

    def _last(self) -> int | None:
        landed = self._landed()
        return landed[-1][0] if landed else None

    def _landed(self) -> list[tuple[int, int]]:
        """Their numbers, and when they landed."""
        found = ((each.getPath().getName(), each.getModificationTime()) for each in self._files.listStatus(self._path(self.rows)))
        return sorted((int(name.removesuffix(_SUFFIX)), modified_ms) for name, modified_ms in found if name.endswith(_SUFFIX))

    def _position(self, number: int) -> KeptText:
        return KeptText(self._session, f"{self._folder}/positions/{number:020d}")


def _name(number: int) -> str:
    return f"{number:020d}{_SUFFIX}"
