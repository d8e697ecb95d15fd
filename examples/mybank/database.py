"""The bank's own database, which has the transactions first. SQLite, or PostgreSQL with a URL.

The bank writes as banks do: rows in transactions, ids that only grow. Python's own module writes to
SQLite and ``psql`` to PostgreSQL, so that no driver must be installed. Pipelines read either
through JDBC.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from examples.mybank.bank import Transaction

TABLE = "transactions"
_CREATE = f"CREATE TABLE {TABLE} (id BIGINT PRIMARY KEY, account VARCHAR(16) NOT NULL, cents BIGINT NOT NULL, shop VARCHAR(40) NOT NULL)"
_DROP = f"DROP TABLE IF EXISTS {TABLE}"
PSQL_SECONDS_MAX = 30.0


class Ledger(Protocol):
    name: str
    jdbc_url: str

    def create(self) -> None:
        """Creates the empty table."""

    def insert(self, rows: Sequence[Transaction]) -> None:
        """Inserts all of them, or none."""

    def count_and_sum(self) -> tuple[int, int]:
        """The number of rows, and the sum of their cents."""


def open_ledger(url: str | None, folder: Path) -> Ledger:
    """``postgresql://user:password@host:port/database``, or nothing for a file in the folder."""
    if not url:
        return SqliteLedger(folder / "mybank.db")
    if not url.startswith(("postgresql://", "postgres://")):
        raise SystemExit(f"BANK_URL is a URL such as postgresql://user:password@host:5432/database, not {url!r}.")
    return PostgresLedger(url)


class SqliteLedger:
    name = "SQLite"

    def __init__(self, path: Path) -> None:
        self.jdbc_url = f"jdbc:sqlite:{path}"
        # The generator writes in another thread, one batch at a time.
        self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
        # Readers do not wait for the writer, nor the writer for them.
        self._connection.execute("PRAGMA journal_mode = WAL")

    def create(self) -> None:
        with self._connection:
            self._connection.execute(_DROP)
            self._connection.execute(_CREATE)

    def insert(self, rows: Sequence[Transaction]) -> None:
        with self._connection:
            self._connection.executemany(
                f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?)", [(each.id, each.account, each.cents, each.shop) for each in rows]
            )

    def count_and_sum(self) -> tuple[int, int]:
        count, cents = self._connection.execute(f"SELECT count(*), coalesce(sum(cents), 0) FROM {TABLE}").fetchone()
        return count, cents


class PostgresLedger:
    name = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._url = url
        self.jdbc_url = jdbc_url(url)
        psql = shutil.which("psql")
        if psql is None:
            raise SystemExit("The bank writes to PostgreSQL with psql, which is not installed.")
        self._psql = psql

    def create(self) -> None:
        self._run(f"{_DROP};\n{_CREATE};")

    def insert(self, rows: Sequence[Transaction]) -> None:
        lines = "".join(f"{each.id}\t{each.account}\t{each.cents}\t{each.shop}\n" for each in rows)
        self._run(f"COPY {TABLE} FROM STDIN;\n{lines}\\.\n")

    def count_and_sum(self) -> tuple[int, int]:
        count, cents = self._run(f"SELECT count(*), coalesce(sum(cents), 0) FROM {TABLE};").strip().split("|")
        return int(count), int(cents)

    def _run(self, script: str) -> str:
        command = [self._psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", self._url]
        done = subprocess.run(command, input=script, text=True, capture_output=True, timeout=PSQL_SECONDS_MAX, check=False)
        if done.returncode:
            raise SystemExit(f"PostgreSQL refuses: {done.stderr.strip()}")
        return done.stdout


def jdbc_url(url: str) -> str:
    """JDBC expects the user and the password among the parameters."""
    parts = urllib.parse.urlsplit(url)
    given = {"user": urllib.parse.unquote(parts.username or ""), "password": urllib.parse.unquote(parts.password or "")}
    parameters = urllib.parse.parse_qsl(parts.query) + [(name, value) for name, value in given.items() if value]
    place = f"{parts.hostname or 'localhost'}:{parts.port or 5432}"
    return f"jdbc:postgresql://{place}{parts.path}" + (f"?{urllib.parse.urlencode(parameters)}" if parameters else "")
