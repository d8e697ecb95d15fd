"""A database behind a JDBC address: its driver, and the few SQL statements in which databases
differ.

address            driver                  upsert
================   =====================   =======================================
jdbc:postgresql:   org.postgresql          INSERT ... ON CONFLICT (keys) DO UPDATE
jdbc:mariadb:      org.mariadb.jdbc        INSERT ... ON DUPLICATE KEY UPDATE
jdbc:sqlite:       org.xerial (embedded)   INSERT ... ON CONFLICT (keys) DO UPDATE

Drivers run in the JVM, so that Spark's own reader and writer use them on every executor, and there
is nothing to install.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.declaration.fields import Fields

# SQLite allows one writer at a time; others wait this long before they get a "busy" error.
_SQLITE_BUSY_MS = "30000"
# Messages of drivers when the database is down, restarting or busy, as opposed to when it refuses a
# statement.
_AWAY = re.compile(
    r"refused|connection attempt failed|connection has been closed|terminating connection"
    r"|is (?:starting up|shutting down|not yet accepting)"
    r"|I/O error|Connection reset|Broken pipe|Socket (?:fail|error)|SocketTimeout|Could not connect|Communications link failure"
    r"|SQLITE_BUSY|SQLITE_LOCKED|database is locked|too many (?:clients|connections)|UnknownHost|timed? ?out|deadlock",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    driver: str
    package: str
    quote: str
    text_type: str  # the type for casting a value to text
    options: dict[str, str]  # properties of a connection

    def name(self, identifier: str) -> str:
        """Quoted; a dot separates a schema from its table."""
        return ".".join(f"{self.quote}{part.replace(self.quote, self.quote * 2)}{self.quote}" for part in identifier.split("."))

    def names(self, identifiers: Sequence[str]) -> str:
        return ", ".join(self.name(each) for each in identifiers)


# The server converts a text to the column's type (uuid, jsonb, an enum), as for a literal.
_POSTGRESQL_OPTIONS = {"stringtype": "unspecified", "reWriteBatchedInserts": "true", "tcpKeepAlive": "true", "connectTimeout": "10"}
DIALECTS = {
    "jdbc:postgresql:": Dialect("org.postgresql.Driver", "org.postgresql:postgresql:42.7.7", '"', "text", _POSTGRESQL_OPTIONS),
    # Spark quotes names as in standard SQL.
    "jdbc:mariadb:": Dialect(
        "org.mariadb.jdbc.Driver",
        "org.mariadb.jdbc:mariadb-java-client:3.5.3",
        "`",
        "char",
        {"sessionVariables": "sql_mode=CONCAT(@@sql_mode,',ANSI_QUOTES')", "connectTimeout": "10000"},
    ),
    "jdbc:sqlite:": Dialect("org.sqlite.JDBC", "org.xerial:sqlite-jdbc:3.50.3.0", '"', "text", {"busy_timeout": _SQLITE_BUSY_MS}),
}


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    url: str
    user: str | None
    password: str | None
    options: tuple[tuple[str, str], ...]  # passed on to the driver or to Spark

    @property
    def scheme(self) -> str:
        return next(scheme for scheme in DIALECTS if self.url.startswith(scheme))

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.scheme]

    @property
    def is_sqlite(self) -> bool:
        return self.scheme == "jdbc:sqlite:"

    @property
    def is_mariadb(self) -> bool:
        return self.scheme == "jdbc:mariadb:"

    def spark_options(self) -> dict[str, str]:
        """For ``format("jdbc")``, to read and to write."""
        login = {name: value for name, value in (("user", self.user), ("password", self.password)) if value is not None}
        return {"url": self.url, "driver": self.dialect.driver, **self.dialect.options, **login, **dict(self.options)}

    @contextmanager
    def connection(self, session: SparkSession) -> Iterator[JdbcConnection]:
        """A connection from the driver, opened the way Spark does it: Spark knows where the classes
        of packages are, unlike the JVM's DriverManager."""
        jvm: Any = session._jvm  # noqa: SLF001 - the JVM has the JDBC drivers
        options = jvm.PythonUtils.toScalaMap(self.spark_options())
        jdbc_options = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(self.url, "barnabas", options)
        connection = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self.url).createConnectionFactory(jdbc_options).apply(-1)
        try:
            yield JdbcConnection(connection)
        finally:
            connection.close()


class JdbcConnection:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, *parameters: str | int) -> int:
        """Returns the number of changed rows."""
        prepared = self._prepared(statement, parameters)
        try:
            return int(prepared.executeUpdate())
        finally:
            prepared.close()

    def value(self, statement: str, *parameters: str | int) -> int | None:
        """The number in the first row, if there is one."""
        prepared = self._prepared(statement, parameters)
        try:
            rows = prepared.executeQuery()
            return int(rows.getLong(1)) if rows.next() else None
        finally:
            prepared.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._connection.setAutoCommit(False)
        try:
            yield
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            self._connection.setAutoCommit(True)

    def _prepared(self, statement: str, parameters: Sequence[str | int]) -> Any:
        prepared = self._connection.prepareStatement(statement)
        for position, value in enumerate(parameters, start=1):
            if isinstance(value, int):
                prepared.setLong(position, value)
            else:
                prepared.setString(position, value)
        return prepared


def declare_database(own: Fields) -> JdbcDatabase:
    url = own.text("url")
    if url and not url.startswith(tuple(DIALECTS)):
        own.report(f"'url' of {own.what} begins with {', '.join(DIALECTS)}; not {url!r}.", "url")
    return JdbcDatabase(url, own.optional_text("user"), own.optional_text("password"), tuple(own.optional_texts_by_name("options").items()))


def is_unavailable(wrong: BaseException) -> bool:
    """Whether a retry may help."""
    text = str(wrong)
    java = getattr(wrong, "java_exception", None)
    if java is not None:
        text += str(java)
    return _AWAY.search(text) is not None
