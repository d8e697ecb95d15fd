"""The bank's schema registry: a process of its own beside the brokers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STOP_SECONDS_MAX = 30.0
_READY = "ready registry="


@contextmanager
def running_registry(bootstrap: str) -> Iterator[str]:
    """Its address, once it answers."""
    command = [sys.executable, "-m", "barnabas", "registry", "--bootstrap", bootstrap, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith(_READY):
            raise SystemExit("The demo cannot run: the schema registry did not start.")
        yield line.strip().removeprefix(_READY)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
