"""A command on a terminal of 80 columns: a pseudo-terminal, as pexpect and tmux use one."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress

from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS

COLUMNS, LINES = 80, 24
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(cli: Cli, *words: object, code: int = 0) -> list[str]:
    """The lines that a user sees. The command must end with ``code``."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    # COLUMNS in the environment would win over the terminal's size.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas", *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, **cli.environment, "TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    # Reading from a terminal fails after its last user has closed it.
    with suppress(OSError):
        while part := os.read(ours, 65536):
            seen += part
    os.close(ours)
    assert process.wait(PATIENCE_SECONDS) == code, seen
    return _CONTROL.sub("", seen.decode()).replace("\r\n", "\n").rstrip("\n").split("\n")
