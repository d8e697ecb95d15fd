"""A node in a thread of this process, or in a child process that can be killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, Self

from barnabas.devcluster.child_node import SERVER_WITHOUT_ENVIRONMENT
from barnabas.devcluster.development import LOCALHOST, development_properties
from barnabas.devcluster.kept_ports import KeptPorts
from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Node
from barnabas.node.process import ensure_formatted, parse_settings, run_loop
from barnabas.telemetry.logs import EventLog

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 60.0
# The last lines that a child wrote to stderr; bounded, since a child may write for ever.
COMPLAINT_LINES_MAX = 1000


class EmbeddedBroker:
    """``process=True`` runs it as a child: slower to start, but it can be killed and started again
    on the same data.

    ``config`` takes Kafka's property names, and is the only source of settings: ``KAFKA_...``
    variables of the environment do not reach the broker. A given ``data_dir`` is kept; a temporary
    one is removed at the end.
    """

    def __init__(
        self,
        *,
        process: bool = False,
        data_dir: str | os.PathLike[str] | None = None,
        port: int = 0,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self._in_process = not process
        self._own_directory = data_dir is None
        self.data_dir = os.fspath(data_dir) if data_dir is not None else tempfile.mkdtemp(prefix="barnabas-")
        self._port = port
        self._config = dict(config or {})
        self._runner: _Thread | _Child | None = None
        self._port_is_kept = False
        self._kept_ports = KeptPorts(LOCALHOST)
        # Also for a broker that is garbage collected after it was killed.
        weakref.finalize(self, self._kept_ports.close)
        self._complaints: Callable[[], str] = str
        self.bootstrap = ""

    # -- as a context -------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._remove_data()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- by hand ------------------------------------------------------------------------------

    def start(self) -> Self:
        """Raises ``CannotStart`` with a sentence when it fails. A second start, after a stop or a
        kill, keeps the port."""
        assert self._runner is None, "the broker is running"
        self._keep_port()
        properties = development_properties(port=self._port, data_dir=self.data_dir, overrides=self._config)
        runner: _Thread | _Child
        if self._in_process:
            runner = _Thread(properties)
        else:
            runner = _Child(properties)
            self._complaints = runner.complaints
        self.bootstrap = runner.start()
        self._port = int(self.bootstrap.rpartition(":")[2])
        self._runner = runner
        return self

    def stop(self) -> None:
        """A clean stop; the data stays."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.stop()

    def kill(self) -> None:
        """As ``kill -9`` does it. Only a child process can be killed."""
        if not isinstance(self._runner, _Child):
            raise TypeError("only EmbeddedBroker(process=True) can be killed")
        runner, self._runner = self._runner, None
        runner.kill()

    def close(self) -> None:
        """Stop, and remove the data if it was temporary."""
        try:
            self.stop()
        finally:
            self._kept_ports.close()
            self._remove_data()

    @property
    def pid(self) -> int:
        return self._runner.pid if isinstance(self._runner, _Child) else os.getpid()

    @property
    def complaints(self) -> str:
        """The stderr of the child process since its last start; with ``process=False`` it goes to
        this process's stderr."""
        return self._complaints()

    def _keep_port(self) -> None:
        """Reserves the port for a process that may be killed: the system gives it to no other
        process while the broker is down."""
        if self._in_process or "listeners" in self._config or self._port_is_kept:
            return
        # If another process listens there, the node itself reports it.
        with suppress(OSError):
            self._port = self._kept_ports.choose(self._port)
            self._port_is_kept = True
        self._kept_ports.all_are_chosen()

    def _remove_data(self) -> None:
        if self._own_directory:
            shutil.rmtree(self.data_dir, ignore_errors=True)


class _Thread:
    """The node's event loop in a thread of its own."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._bootstrap = ""
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)

    def start(self) -> str:
        self._thread.start()
        if not self._started.wait(START_SECONDS_MAX):
            raise CannotStart(f"the broker did not start within {START_SECONDS_MAX:g} seconds.")
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self._bootstrap

    def stop(self) -> None:
        """Raises the error that ended the node earlier, if there was one."""
        with suppress(RuntimeError):  # its loop is closed already
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_SECONDS_MAX)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            run_loop(self._main())
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that waits
            self._failure = failure
        finally:
            self._started.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        settings = parse_settings(self._properties)
        ensure_formatted(settings)
        node = Node(settings, log=EventLog("ERROR"))
        self._bootstrap = (await node.start()).bootstrap
        self._started.set()
        ends = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(node.failed.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for each in ends:
            each.cancel()
        await node.stop()
        if node.failure is not None:
            raise node.failure


class _Child:
    """``barnabas server`` as a child process."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties
        self._process: subprocess.Popen[str] | None = None
        self._complaints: deque[str] = deque(maxlen=COMPLAINT_LINES_MAX)
        self._listening: threading.Thread | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> str:
        ensure_formatted(parse_settings(self._properties))
        overrides = [part for name, value in self._properties.items() for part in ("--override", f"{name}={value}")]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [*SERVER_WITHOUT_ENVIRONMENT, "--log-level", "ERROR", *overrides],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        # Drain its stderr: a full pipe would stop the child.
        self._listening = threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True)
        self._listening.start()
        line = _read_line(self._process.stdout, START_SECONDS_MAX)
        if not line.startswith("ready "):
            self._process.kill()
            self._reap()
            raise CannotStart(self.complaints().strip() or "the broker's process ended before it was ready.")
        return dict(part.split("=", 1) for part in line.split()[1:])["bootstrap"]

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._reap()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._reap()

    def complaints(self) -> str:
        return "".join(self._complaints)

    def _listen(self, stream: IO[str]) -> None:
        for line in stream:
            self._complaints.append(line)

    def _reap(self) -> None:
        assert self._process is not None
        assert self._listening is not None
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._listening.join()
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()


def _read_line(stream: IO[Any], seconds_max: float) -> str:
    """One line, or the part that has arrived when the time is up."""
    line: list[str] = []
    reader = threading.Thread(target=lambda: line.append(stream.readline()), daemon=True)
    reader.start()
    reader.join(seconds_max)
    return line[0] if line else ""
