"""A ``barnabas`` command as a process that costs a tenth of an interpreter's start.

An interpreter takes a second of a processor to import a node, and the tests of clusters start
hundreds of nodes. So one process imports it, and the nodes are forks of that process
(:mod:`~tests.cluster.fork_server`): each with its own memory, files and signals, which is all that
``kill -9``, a pause or a cut network touch. ``tests/cli`` starts ``python -m barnabas`` itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import IO

from peers.jvm import ROOT
from tests.cluster.fork_server import REQUEST_BYTES_MAX, Request


class ForkedCommand:
    """The part of ``subprocess.Popen`` that a node needs."""

    def __init__(self, words: Sequence[str], output: IO[bytes], announce: Callable[[int], None] = lambda pid: None) -> None:
        """Runs the command after ``announce`` has been called with its process id."""
        request: Request = {"words": list(words), "directory": os.getcwd(), "environment": dict(os.environ)}
        encoded = json.dumps(request).encode()
        assert len(encoded) < REQUEST_BYTES_MAX
        status, its_status = os.pipe()
        its_go, go = os.pipe()
        socket.send_fds(_server(), [encoded], [output.fileno(), its_status, its_go])
        os.close(its_status)
        os.close(its_go)
        self._status = os.fdopen(status, "rb")
        weakref.finalize(self, self._status.close)
        self._reading = threading.Lock()
        self.args = list(words)
        self.returncode: int | None = None
        self.pid = int(self._status.readline())
        announce(self.pid)
        os.close(go)

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, seconds_max: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds_max)[0]:
            with self._reading:
                if self.returncode is None:
                    # The pipe ends without a code if the minder was killed, with its command.
                    self.returncode = int(self._status.readline() or -signal.SIGKILL)
        return self.returncode


@cache
def _server() -> socket.socket:
    # Datagrams keep requests apart.
    ours, its_own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES_MAX)
    with its_own:
        command = [sys.executable, "-m", "tests.cluster.fork_server", str(its_own.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, pass_fds=[its_own.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours
