"""A console in a process of its own, so that its memory can be measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.console.console_thread import ConsoleClient

# The bound of the console's memory, whatever the size of a cluster.
MEGABYTES_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class ConsoleProcess:
    client: ConsoleClient
    pid: int

    def peak_megabytes(self) -> float:
        """The most memory that was resident at any time."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = [each for each in status.splitlines() if each.startswith("VmHWM:")]
        return int(line.split()[1]) / 1024


@contextmanager
def console_process(cluster: str, bootstrap: str) -> Iterator[ConsoleProcess]:
    command = [sys.executable, "-m", "barnabas", "console", "--cluster", f"{cluster}={bootstrap}", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = next(line for line in process.stdout if line.startswith("ready console=")).strip().removeprefix("ready console=")
        client = ConsoleClient(url)
        try:
            yield ConsoleProcess(client, process.pid)
        finally:
            client.http.close()
            process.terminate()
            process.wait(60)
