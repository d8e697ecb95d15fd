"""Databases to read and to write: SQLite always; PostgreSQL and MariaDB where their servers are
installed.

The servers run as children, on local sockets, with temporary data; they refuse to run as root, so
as root they run as another user. ``BARNABAS_TEST_MARIADB`` names a folder with an unpacked MariaDB
(its ``usr`` inside) where none is installed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines.jdbc_database import JdbcDatabase
from tests.waiting import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = ("sqlite", "postgresql", "mariadb")


class Database:
    """``fields`` are those of a pipeline's ``jdbc``."""

    def __init__(self, kind: str, session: SparkSession, server: Server | None, **fields: str) -> None:
        self.kind = kind
        self.fields = fields
        self.server = server
        self._session = session
        self._jdbc = JdbcDatabase(fields["url"], fields.get("user"), fields.get("password"), ())

    def execute(self, *statements: str) -> None:
        with self._jdbc.connection(self._session) as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        frame = self._session.read.format("jdbc").options(**self._jdbc.spark_options(), query=query).load()
        return [tuple(row) for row in frame.collect()]


class Server:
    def __init__(self, command: Sequence[str], port: int, environment: dict[str, str] | None = None) -> None:
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port

    def start(self) -> None:
        self._process = subprocess.Popen(
            as_ordinary_user(self._command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self._environment, cwd="/"
        )
        process = self._process

        def listens() -> bool:
            assert process.poll() is None, "the database ended by itself"
            return _listens(self.port)

        until(listens, "the database listens")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT if "postgres" in self._command[0] else signal.SIGTERM)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None


@contextmanager
def database(kind: str, session: SparkSession, folder: Path) -> Iterator[Database]:
    match kind:
        case "sqlite":
            yield Database(kind, session, None, url=f"jdbc:sqlite:{folder}/test.db")
        case "postgresql":
            with _postgresql() as server:
                url = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"
                made = Database(kind, session, server, url=url, user="barnabas", password="secret")
                _until_it_answers(made)
                yield made
        case "mariadb":
            with _mariadb() as server:
                made = Database(
                    kind, session, server, url=f"jdbc:mariadb://127.0.0.1:{server.port}/test", user="barnabas", password="secret"
                )
                _until_it_answers(made)
                yield made


@contextmanager
def _postgresql() -> Iterator[Server]:
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    with _own_folder() as folder:
        data, password = folder / "data", folder / "password"
        password.write_text("secret\n")
        password.chmod(0o644)
        _run([initdb, "-D", str(data), "-U", "barnabas", "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "-E", "UTF8"])
        port = _free_port()
        server = Server([postgres, "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-F"], port)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def _mariadb() -> Iterator[Server]:
    unpacked = os.environ.get("BARNABAS_TEST_MARIADB")
    root = Path(unpacked) if unpacked else Path("/")
    mariadbd = root / "usr/sbin/mariadbd"
    if not mariadbd.exists():
        pytest.skip("MariaDB's mariadbd is not installed, and BARNABAS_TEST_MARIADB names no folder with one")
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"}
    with _own_folder() as folder:
        data, first = folder / "data", folder / "first.sql"
        common = [str(mariadbd), "--no-defaults", f"--basedir={root}/usr", f"--datadir={data}", f"--tmpdir={folder}"]
        scripts = [root / "usr/share/mysql" / name for name in ("mariadb_system_tables.sql", "mysql_system_tables.sql")]
        script = next(each for each in scripts if each.exists())
        _make_owned(data)
        first.write_text(f"CREATE DATABASE mysql;\nUSE mysql;\n{script.read_text()}\nCREATE DATABASE test;\n")
        with first.open("rb") as statements:
            _run([*common, "--bootstrap", "--skip-networking", "--skip-grant-tables"], environment, statements)
        port = _free_port()
        options = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/socket", "--skip-grant-tables", "--skip-networking=0"]
        server = Server([*common, *options], port, environment)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def as_ordinary_user(command: Sequence[str]) -> list[str]:
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]


def _make_owned(folder: Path) -> None:
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A short path, because names of sockets are limited; owned by the ordinary user."""
    folder = Path(tempfile.mkdtemp(prefix="barnabas-db-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str], environment: dict[str, str] | None = None, statements: Any = subprocess.DEVNULL) -> None:
    done = subprocess.run(
        as_ordinary_user(command), env=environment, stdin=statements, capture_output=True, cwd="/", timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]


def _until_it_answers(made: Database) -> None:
    def answers() -> bool:
        made.execute("DROP TABLE IF EXISTS nothing")
        return True

    until(answers, "the database answers", retry_on=Exception)


def _program(name: str) -> str | None:
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(versions[-1]) if versions else shutil.which(name)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
