"""A command on a terminal of its own, as a person has it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

COLUMNS = 80


class Terminal:
    """stdin, stdout and stderr are the terminal. ``shown`` is all that it was sent."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self.shown = b""

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def read_until(self, text: bytes) -> bytes:
        """All that was shown so far, up to and including ``text``."""

        def found() -> bool:
            self._read()
            return text in self.shown

        until(found, f"the terminal shows {text!r}", seen=lambda: self.shown)
        return self.shown[: self.shown.index(text) + len(text)]

    def end(self) -> bytes:
        """All that was shown by the time the command ended."""

        def ended() -> bool:
            self._read()
            return self.process.poll() is not None

        until(ended, "the command ends", seen=lambda: self.shown)
        self._read()
        return self.shown

    def _read(self) -> None:
        while select.select([self._master], [], [], 0)[0]:
            try:
                data = os.read(self._master, 65_536)
            except OSError:
                return  # Linux reports an error when the other side is closed.
            if not data:
                return
            self.shown += data


@contextmanager
def on_a_terminal(cli: Cli, *arguments: object, **environment: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "barnabas", *(str(each) for each in arguments)]
    settings = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**settings, "TERM": "xterm", **cli.environment, **environment},
        start_new_session=True,
        preexec_fn=_take_ctrl_c,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_SECONDS)
        os.close(master)


def _take_ctrl_c() -> None:
    """The terminal becomes that of the command, so that a typed Ctrl-C reaches it. The tests may
    ignore that signal, and children inherit it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
