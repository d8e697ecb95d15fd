"""A node as a child process: ``barnabas server`` with a properties file, and no settings from the
environment.

The state of the process arrives in a queue as events: :class:`NodeReady` at most once,
:class:`NodeEnded` always. The child stops when its standard input ends, so that no node outlives a
parent that was killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

_ERROR_PREFIX = "barnabas: "
# The properties file is the child's only source of settings. A KAFKA_... variable of the parent's
# environment would override the file, and may be there for another program.
SERVER_WITHOUT_ENVIRONMENT = (sys.executable, "-m", "barnabas", "server", "--no-environment")


@dataclass(frozen=True, slots=True)
class NodeReady:
    node_id: int
    cluster_id: str


@dataclass(frozen=True, slots=True)
class NodeEnded:
    node_id: int
    code: int
    error: str | None  # the error sentence of a node that refused to start or to continue

    @property
    def how(self) -> str:
        if self.error is not None:
            return self.error
        return f"killed by {signal.Signals(-self.code).name}." if self.code < 0 else f"it ended with code {self.code}."


class ChildNode:
    def __init__(self, node_id: int, properties: Path, events: SimpleQueue[Any], on_line: Callable[[str], None]) -> None:
        """``on_line`` receives each line that the node logs, on a thread of its own."""
        self.node_id = node_id
        self._events = events
        self._on_line = on_line
        self._error: str | None = None
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [*SERVER_WITHOUT_ENVIRONMENT, "--log-level", "WARN", "--until-stdin-ends", "--config", str(properties)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Ctrl-C goes to the parent, which then stops the children. A second signal would make
            # them stop at once instead of cleanly.
            start_new_session=True,
        )
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._listening.start()
        self._watching.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Ask the node to stop cleanly; its end arrives as an event."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()

    def reap(self) -> None:
        """Wait until the process has ended and all its output has been passed on."""
        self._watching.join()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith(_ERROR_PREFIX):
                self._error = line.removeprefix(_ERROR_PREFIX).rstrip("\n")
            else:
                self._on_line(line)

    def _watch(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        for line in self._process.stdout:
            if line.startswith("ready "):
                fields = dict(word.split("=", 1) for word in line.split()[1:])
                self._events.put(NodeReady(self.node_id, fields["cluster"]))
        code = self._process.wait()
        self._listening.join()
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._events.put(NodeEnded(self.node_id, code, self._error))
