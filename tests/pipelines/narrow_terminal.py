"""Runs Python in a terminal of 80 columns, and returns the lines that it draws."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

from tests.waiting import LONG_PATIENCE_SECONDS

COLUMNS, ROWS = 80, 24
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def lines_at_80_columns(arguments: Sequence[str], folder: Path) -> list[str]:
    """Without control sequences. Raises when the process fails, or draws a line that is wider than
    the terminal."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        # Variables of the test's own environment must not decide about the width.
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**environment, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    finally:
        os.close(theirs)
    try:
        text = _read(ours)
        code = process.wait(LONG_PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    lines = [_CONTROL.sub("", line).rstrip() for line in re.split(r"[\r\n]+", text)]
    assert code == 0, text
    wide = [line for line in lines if cell_len(line) > COLUMNS]
    assert not wide, wide
    return lines


def _read(terminal: int) -> str:
    found = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            # Linux reports the end of the other side as an error.
            part = b""
        if not part:
            return found.decode()
        found += part
