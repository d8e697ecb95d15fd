"""The SQL statements that apply a staged batch."""

# ruff: noqa: S608 - names are quoted, and values are literals of our own making or parameters

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipelines.jdbc_database import JdbcDatabase
from barnabas.pipelines.sinks.changed_rows import DELETED

# One row for every query: the last batch that was applied.
BATCHES = "barnabas_batches"


@dataclass(frozen=True, slots=True)
class JdbcStatements:
    database: JdbcDatabase
    table: str
    staging: str
    columns: Sequence[str]
    keys: Sequence[str]

    def create_batches(self) -> str:
        return f"CREATE TABLE IF NOT EXISTS {BATCHES} (query VARCHAR(255) NOT NULL PRIMARY KEY, batch BIGINT NOT NULL)"

    def batch(self) -> str:
        return f"SELECT batch FROM {BATCHES} WHERE query = ?"

    def forget_batch(self) -> str:
        return f"DELETE FROM {BATCHES} WHERE query = ?"

    def note_batch(self) -> str:
        return f"INSERT INTO {BATCHES} (query, batch) VALUES (?, ?)"

    def probe(self) -> str:
        return f"SELECT 1 FROM {self._target} WHERE 1 = 0"

    def create_index(self) -> str:
        name = self.database.dialect.name(f"{self.table.rpartition('.')[2]}_barnabas_keys")
        return f"CREATE UNIQUE INDEX {name} ON {self._target} ({self.database.dialect.names(self.keys)})"

    def drop_staging(self) -> str:
        return f"DROP TABLE IF EXISTS {self._staged}"

    def create_staging(self) -> str:
        """With the types of the target table, not those that Spark would derive from the
        columns."""
        return f"CREATE TABLE {self._staged} AS SELECT {self._names}, 0 AS {DELETED} FROM {self._target} WHERE 1 = 0"

    def take_over(self) -> str:
        # The WHERE is needed even if it selects all rows: without one SQLite parses ON as the
        # condition of a join.
        insert = f"INSERT INTO {self._target} ({self._names}) SELECT {self._names} FROM {self._staged} WHERE {DELETED} = 0"
        name = self.database.dialect.name
        others = [name(each) for each in self.columns if each not in self.keys]
        if not self.keys:
            return insert
        if self.database.is_mariadb:
            changes = [f"{each} = VALUES({each})" for each in others] or [f"{name(self.keys[0])} = VALUES({name(self.keys[0])})"]
            return f"{insert} ON DUPLICATE KEY UPDATE {', '.join(changes)}"
        change = f"UPDATE SET {', '.join(f'{each} = excluded.{each}' for each in others)}" if others else "NOTHING"
        return f"{insert} ON CONFLICT ({self.database.dialect.names(self.keys)}) DO {change}"

    def delete(self) -> str:
        name = self.database.dialect.name
        same = " AND ".join(f"{self._staged}.{name(each)} = {self._target}.{name(each)}" for each in self.keys)
        return f"DELETE FROM {self._target} WHERE EXISTS (SELECT 1 FROM {self._staged} WHERE {DELETED} = 1 AND {same})"

    @property
    def _names(self) -> str:
        return self.database.dialect.names(self.columns)

    @property
    def _target(self) -> str:
        return self.database.dialect.name(self.table)

    @property
    def _staged(self) -> str:
        return self.database.dialect.name(self.staging)
