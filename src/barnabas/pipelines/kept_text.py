"""A small text beside a checkpoint, decided once at the first start and the same at every later one: an inferred schema, a number of
writers. It lies where the checkpoint lies, which on a cluster is not a local folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class KeptText:
    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        self.path = path

    def read(self) -> str | None:
        if is_remote(self.path):
            return self._read_remote()
        try:
            with open(_local(self.path), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, text: str) -> None:
        """Whole or not at all."""
        if is_remote(self.path):
            self._write_remote(text)
            return
        path = _local(self.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)

    def _hadoop(self, path: str) -> tuple[Any, Any]:
        jvm: Any = self._session._jvm  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
        where = jvm.org.apache.hadoop.fs.Path(path)
        return where.getFileSystem(self._session._jsparkSession.sessionState().newHadoopConf()), where  # noqa: SLF001

    def _read_remote(self) -> str | None:
        files, where = self._hadoop(self.path)
        if not files.exists(where):
            return None
        stream = files.open(where)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def _write_remote(self, text: str) -> None:
        files, where = self._hadoop(self.path)
        _, fresh = self._hadoop(self.path + ".new")
        stream = files.create(fresh, True)
        stream.write(text.encode())
        stream.close()
        files.rename(fresh, where)


def is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file://")


def _local(path: str) -> str:
    return path.removeprefix("file://")
