"""A small text beside a checkpoint, decided at the first start and the same at every later one: an
inferred schema, a number of writers. It is stored where the checkpoint is, which on a cluster is
not a local folder.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class KeptText:
    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        self.path = path

    def read(self) -> str | None:
        if self._is_hadoops():
            return self._read_by_hadoop()
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, text: str) -> None:
        """Atomic, also when it replaces another text."""
        if self._is_hadoops():
            self._write_by_hadoop(text)
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self.path + ".new", self.path)

    def _is_hadoops(self) -> bool:
        if has_scheme(self.path):
            return True
        # If Spark's default is another file system, Spark resolves a path without a scheme there,
        # and so must we.
        default = self._session._jsparkSession.sessionState().newHadoopConf().get("fs.defaultFS")  # noqa: SLF001 - as below
        return default is not None and not str(default).startswith("file:")

    def _read_by_hadoop(self) -> str | None:
        _, configuration, where = self._hadoop()
        files = where.getFileSystem(configuration)
        if not files.exists(where):
            return None
        stream = files.open(where)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def _write_by_hadoop(self, text: str) -> None:
        jvm, configuration, where = self._hadoop()
        fresh = where.suffix(".new")
        stream = where.getFileSystem(configuration).create(fresh, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        # A FileSystem does not rename onto an existing file, and only returns false; a FileContext
        # can overwrite, as Spark's own logs do.
        how = self._session.sparkContext._gateway.new_array(jvm.org.apache.hadoop.fs.Options.Rename, 1)  # type: ignore[union-attr]  # noqa: SLF001
        how[0] = jvm.org.apache.hadoop.fs.Options.Rename.OVERWRITE
        jvm.org.apache.hadoop.fs.FileContext.getFileContext(where.toUri(), configuration).rename(fresh, where, how)

    def _hadoop(self) -> tuple[Any, Any, Any]:
        jvm: Any = self._session._jvm  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        configuration = self._session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        return jvm, configuration, jvm.org.apache.hadoop.fs.Path(self.path)


class TrialText(KeptText):
    """Reads what a run has kept, and writes only to ``texts``."""

    def __init__(self, session: SparkSession, path: str, texts: dict[str, str]) -> None:
        super().__init__(session, path)
        self._texts = texts

    def read(self) -> str | None:
        return self._texts[self.path] if self.path in self._texts else super().read()

    def write(self, text: str) -> None:
        self._texts[self.path] = text


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_LOCAL = re.compile(r"file:(?://(?:localhost)?)?(?=/)")


def has_scheme(path: str) -> bool:
    """Hadoop resolves such a path, also when it is on this machine: ``file:///checkpoints``,
    ``s3a://bucket/checkpoints``."""
    return _SCHEME.match(path) is not None


def local_path(path: str) -> str | None:
    """None when it is not on this machine."""
    found = _LOCAL.match(path)
    if found is not None:
        return path[found.end() :]
    return None if has_scheme(path) else path
