"""A query as a process of its own: ``barnabas sql`` with the login of the person.

A product meets another one over the wire, and a query may take all the memory that it gets: so it
runs beside the console, with bounds that the kernel enforces, and a signal stops it.

- The embedded engine alone answers: it opens no files and no connections but those to the brokers,
  and knows only the functions that it was compared with Spark for. Spark's SQL could call Java.
- The program gets the query as an argument of its own, without a shell, and the properties of the
  client on its stdin, so that no password is in a file or in a list of processes.
- It gets none of the console's environment but the paths to programs, and a directory of its own
  for temporary files, which is deleted with it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from barnabas.config.properties import write_properties
from barnabas.console.core.sql_output import Column, last_sentence, read_output_line
from barnabas.console.limits import (
    SQL_ADDRESS_BYTES_MAX,
    SQL_FILE_BYTES_MAX,
    SQL_LINE_BYTES_MAX,
    SQL_ROWS_MAX,
    SQL_SECONDS_MAX,
    SQL_STOP_SECONDS_MAX,
    SQL_STREAM_SECONDS_MAX,
)

if TYPE_CHECKING:
    from barnabas.console.access.cluster_client import ClusterClient

_STDERR_BYTES_MAX: Final = 64 * 1024
# The longest that a stream of events is silent: a connection that is gone shows at the next write.
_SILENT_SECONDS_MAX: Final = 1.0
_INHERITED: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR")
_reapers: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Columns:
    """An answer begins; rows of an earlier one are replaced."""

    columns: list[Column]


@dataclass(frozen=True, slots=True)
class Row:
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing new, for a second."""


@dataclass(frozen=True, slots=True)
class Ended:
    sentence: str
    is_failure: bool
    is_limited: bool = False
    """Whether the answer has more rows than were read."""


SqlEvent = Columns | Row | Silence | Ended


async def run_query(
    client: ClusterClient, query: str, *, follows: bool = False, from_beginning: bool = False
) -> AsyncGenerator[SqlEvent, None]:
    """Ends with :class:`Ended`. A caller that stops reading stops the query."""
    folder = tempfile.mkdtemp(prefix="barnabas-console-sql-")
    process: asyncio.subprocess.Process | None = None
    try:
        process = await _started(client, query, folder, follows=follows, from_beginning=from_beginning)
        async with aclosing(_events(process, follows=follows)) as events:
            async for event in events:
                yield event
    finally:
        # The task may be cancelled, and must not wait here.
        reaper = asyncio.ensure_future(_reap(process, folder))
        _reapers.add(reaper)
        reaper.add_done_callback(_reapers.discard)


async def _started(client: ClusterClient, query: str, folder: str, *, follows: bool, from_beginning: bool) -> asyncio.subprocess.Process:
    arguments = ["-P", "-m", "barnabas", "sql", "--engine", "embedded", "--json-rows", "--verbose"]
    arguments += ["--bootstrap", client.settings.bootstrap, "--config-file", "/dev/stdin"]
    arguments += (["--stream"] + ["--from-beginning"] * from_beginning) if follows else ["--limit", str(SQL_ROWS_MAX + 1)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        "--",
        query,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=SQL_LINE_BYTES_MAX,
        cwd=folder,
        env=_environment(folder),
        start_new_session=True,
    )
    _bound(process.pid, seconds_max=None if follows else SQL_SECONDS_MAX)
    assert process.stdin is not None
    with suppress(ConnectionError):
        process.stdin.write(write_properties(_properties(client)).encode())
        await process.stdin.drain()
    process.stdin.close()
    return process


def _properties(client: ClusterClient) -> dict[str, str]:
    """Those of the person at the brokers and at the registry."""
    made = dict(client.properties)
    if client.settings.registry is not None:
        own = {"url": client.settings.registry, **client.settings.registry_credentials(client.properties)}
        made |= {f"schema.registry.{name}": value for name, value in own.items()}
    return made


def _environment(folder: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    if "PYTHONPATH" in os.environ:
        # The process has another directory than the console.
        kept["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, filter(None, os.environ["PYTHONPATH"].split(os.pathsep))))
    return {**kept, "HOME": folder, "TMPDIR": folder, "PYTHONUNBUFFERED": "1"}


def _bound(pid: int, *, seconds_max: float | None) -> None:
    """Limits that the kernel enforces; only Linux can set them for another process."""
    if not hasattr(resource, "prlimit"):
        return
    limits = {resource.RLIMIT_AS: SQL_ADDRESS_BYTES_MAX, resource.RLIMIT_FSIZE: SQL_FILE_BYTES_MAX, resource.RLIMIT_CORE: 0}
    if seconds_max is not None:
        # Of all cores together, for a console that is killed and cannot stop its queries.
        limits[resource.RLIMIT_CPU] = int(seconds_max * (os.cpu_count() or 1))
    with suppress(ProcessLookupError, PermissionError):
        for kind, limit in limits.items():
            resource.prlimit(pid, kind, (limit, limit))


async def _events(process: asyncio.subprocess.Process, *, follows: bool) -> AsyncGenerator[SqlEvent, None]:
    assert process.stdout is not None
    assert process.stderr is not None
    seconds_max = SQL_STREAM_SECONDS_MAX if follows else SQL_SECONDS_MAX
    deadline = time.monotonic() + seconds_max
    told = asyncio.ensure_future(_first_bytes(process.stderr))
    line: asyncio.Future[bytes] | None = None
    rows = 0
    try:
        while True:
            line = line or asyncio.ensure_future(process.stdout.readline())
            done, _ = await asyncio.wait([line], timeout=_SILENT_SECONDS_MAX)
            if time.monotonic() > deadline:
                yield Ended(f"The query is stopped: it took more than {seconds_max:g} seconds.", is_failure=not follows)
                return
            if not done:
                yield Silence()
                continue
            try:
                found = line.result()
            except ValueError:
                yield Ended(f"The query is stopped: a row has more than {SQL_LINE_BYTES_MAX} bytes.", is_failure=True)
                return
            line = None
            if not found:
                break
            event = _event(found)
            if isinstance(event, Row) and not follows:
                rows += 1
                if rows > SQL_ROWS_MAX:
                    yield Ended(f"These are the first {SQL_ROWS_MAX} rows.", is_failure=False, is_limited=True)
                    return
            if event is not None:
                yield event
        code = await process.wait()
        yield Ended(last_sentence(await told) or _words_of(code), is_failure=code != 0)
    finally:
        told.cancel()
        if line is not None:
            line.cancel()


def _event(line: bytes) -> SqlEvent | None:
    found = read_output_line(line)
    if found is None:
        return None
    return Columns(found) if found and isinstance(found[0], Column) else Row(found)


def _words_of(code: int) -> str:
    if code < 0:
        return f"The query was ended by {signal.Signals(-code).name}; it may need too much memory."
    return f"The query ended with code {code}." if code else "Done."


async def _first_bytes(stream: asyncio.StreamReader) -> bytes:
    """All is read, so that the program never waits for its reader, and the end is kept."""
    kept = b""
    while part := await stream.read(_STDERR_BYTES_MAX):
        kept = (kept + part)[-_STDERR_BYTES_MAX:]
    return kept


async def _reap(process: asyncio.subprocess.Process | None, folder: str) -> None:
    try:
        if process is not None:
            await _stopped(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _stopped(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), SQL_STOP_SECONDS_MAX)
