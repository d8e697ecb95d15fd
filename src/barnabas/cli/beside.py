"""A program beside a development cluster, as a child process: a registry, a console.

It prints its own ready line when it answers. It cannot start before the brokers do, and a single
broker runs on the event loop of this process, so nothing here waits for it.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from barnabas.cli.errors import Refused

STOP_SECONDS_MAX: Final = 15
# Below those that Linux and macOS give to connections.
PORTS: Final = (20_000, 32_000)
PORTS_TRIED_MAX: Final = 1000


class ProgramBeside:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, words: Sequence[str]) -> None:
        """``words`` are those of a command of ``barnabas``."""
        # The session of its own keeps Ctrl-C away: the brokers must outlive a registry's last
        # write.
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "barnabas", *words, "--with-parent"], stdin=subprocess.PIPE, start_new_session=True
        )

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port(host: str) -> int:
    """For a program whose port another one must know before it starts. The kernel gives ports of
    this range to no connection, so the port is most likely free until then."""
    for _ in range(PORTS_TRIED_MAX):
        port = random.randrange(*PORTS)
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe, suppress(OSError):
            probe.bind((host, port))
            return port
    raise Refused(f"No port of {host} from {PORTS[0]} to {PORTS[1] - 1} is free.")
