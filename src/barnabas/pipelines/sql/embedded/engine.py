"""DuckDB in this process, for one query: tables are filled with batches of records, then the query
is asked.

It opens no file and no connection: external access is off and the configuration is locked before it
sees a query. Its memory has a bound; beyond it, DuckDB uses a directory for temporary files, which
has a bound, too.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Self

from barnabas.pipelines.column_types import VOID, Array, ColumnType, Map, Struct, duckdb_name
from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.sql.embedded.not_proven import LEAVE_TO_SPARK, QUERY_FAILS, NotProven

# Enough for a hash table over the records that auto gives to this engine, on a small laptop.
MEMORY_MAX = "512MB"
TEMPORARY_MAX = "4GB"
_ROWS_AT_ONCE = 1000
_WATCH_SECONDS = 0.2


def is_installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("duckdb", "pyarrow", "sqlglot"))


def check_installed() -> None:
    if not is_installed():
        raise CannotRun("The embedded engine needs DuckDB: pip install 'barnabas[sql]'.")


class Engine:
    def __init__(self) -> None:
        check_installed()
        import duckdb

        self._folder = tempfile.mkdtemp(prefix="barnabas-sql-")
        settings: dict[str, Any] = {
            "memory_limit": MEMORY_MAX,
            "temp_directory": self._folder,
            "max_temp_directory_size": TEMPORARY_MAX,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # Tables of Python are not found by name: only those that we insert.
            "python_enable_replacements": "false",
        }
        self._connection = duckdb.connect(":memory:", config=settings)
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def create(self, table: str, kinds: Sequence[ColumnType]) -> None:
        columns = [f"c{index} {duckdb_name(kind)}" for index, kind in enumerate(kinds)] or ["c0 BOOLEAN"]
        self._connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")

    def insert(self, table: str, batch: Any) -> None:
        """``batch``: of Arrow."""
        self._connection.register("batch", batch)
        try:
            with _Errors():
                self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - the name is ours
        finally:
            self._connection.unregister("batch")

    def answer(self, sql: str, kinds: Sequence[ColumnType]) -> Iterator[tuple[Any, ...]]:
        """The whole answer is in a table before the first row is returned: a row in the middle may
        show that the query must be left to Spark."""
        self._interruptible(f"CREATE TABLE answer AS {sql}")
        with _Errors():
            cursor = self._connection.execute("SELECT * FROM answer")
        for found, kind in zip(cursor.description or (), kinds, strict=True):
            if kind != VOID and not isinstance(kind, (Struct, Array, Map)) and str(found[1]) != duckdb_name(kind):
                raise NotProven(f"a column of DuckDB's type {found[1]}")
        return self._taken(cursor)

    def _interruptible(self, sql: str) -> None:
        """Runs in a thread: Python handles Ctrl-C only between two steps of its own, and a query of
        DuckDB is one step."""
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(self._connection.execute, sql)
            try:
                while not wait([running], _WATCH_SECONDS).done:
                    pass
            except KeyboardInterrupt:
                self._connection.interrupt()
                raise
            with _Errors():
                running.result()

    def _taken(self, cursor: Any) -> Iterator[tuple[Any, ...]]:
        while True:
            with _Errors():
                rows = cursor.fetchmany(_ROWS_AT_ONCE)
            if not rows:
                return
            yield from rows


class _Errors:
    """Errors of DuckDB as ours."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        import duckdb

        if isinstance(error, duckdb.InterruptException):
            raise KeyboardInterrupt from error
        if not isinstance(error, duckdb.Error):
            return
        text = str(error)
        if QUERY_FAILS in text:
            sentence = text.partition(QUERY_FAILS)[2].splitlines()[0].rstrip(".")
            raise RunFailed(f"The query failed: {sentence}.") from error
        if LEAVE_TO_SPARK in text:
            raise NotProven(text.partition(LEAVE_TO_SPARK)[2].splitlines()[0]) from error
        if isinstance(error, duckdb.OutOfMemoryException):
            raise NotProven(f"it needs more than {MEMORY_MAX} of memory and {TEMPORARY_MAX} of temporary files") from error
        raise NotProven(f"DuckDB refuses it ({text.splitlines()[0]})") from error
