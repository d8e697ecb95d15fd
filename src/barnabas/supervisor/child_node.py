"""A node as a child process: ``barnabas server`` with arguments of its parent.

The state of the process arrives in a queue as events: :class:`NodeReady` at most once,
:class:`NodeEnded` always. The child stops when its standard input ends, so that no node outlives a
parent that was killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from barnabas.node.service_notification import NOTIFY_SOCKET
from barnabas.supervisor.node_events import NodeEnded, NodeReady
from barnabas.supervisor.process_count import PROCESSES_VARIABLE

_ERROR_PREFIX = "barnabas: "
# A child must neither notify systemd in place of its parent, nor start processes of its own.
_OF_THE_PARENT = (NOTIFY_SOCKET, PROCESSES_VARIABLE)
SERVER = (sys.executable, "-m", "barnabas", "server")


class ChildNode:
    def __init__(
        self,
        node_id: int,
        arguments: Sequence[str],
        events: SimpleQueue[Any],
        on_line: Callable[[str], None],
    ) -> None:
        """``arguments`` are those of ``barnabas server``. ``on_line`` receives each line that the
        node logs, on a thread of its own. Raises ``OSError`` when the system has no room for a
        process."""
        self.node_id = node_id
        self._events = events
        self._on_line = on_line
        self._error: str | None = None
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [*SERVER, "--until-stdin-ends", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if name not in _OF_THE_PARENT},
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
                self._events.put(NodeReady(self.node_id, fields["cluster"], fields["bootstrap"]))
        code = self._process.wait()
        self._listening.join()
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._events.put(NodeEnded(self.node_id, code, self._error))
