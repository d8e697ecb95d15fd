"""A pipeline as a process, as users run it, and the processes below it: the driver's JVM, and
Spark's Python workers below that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.waiting import until

# A JVM whose Python has died, or a Python whose JVM has died, ends within seconds.
ORPHANED_SECONDS_MAX = 15.0


class PipelineProcess:
    """The processes that can be killed: ``driver`` is the Python that runs the pipeline, ``jvm``
    Spark itself, ``workers`` run the tasks' Python."""

    def __init__(self, folder: Path, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._output = (folder / "output").open("ab")
        self._process = subprocess.Popen(command, env=environment, cwd=folder, stdout=self._output, stderr=subprocess.STDOUT)
        self._seen: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends all processes, also those that outlived their parent."""
        for pid in sorted(self._seen | set(descendants(self._process.pid))):
            kill(pid)
        kill(self._process.pid)
        self._process.wait()
        self._output.close()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds_max: float) -> int:
        return self._process.wait(seconds_max)

    def await_end(self) -> None:
        """A process that lost its parent ends by itself and may write something until then; only
        one that does not end is killed."""
        deadline = time.monotonic() + ORPHANED_SECONDS_MAX
        while time.monotonic() < deadline and any(command_of(pid) for pid in (*self._seen, self._process.pid)):
            self._process.poll()
            time.sleep(0.05)
        for pid in self._seen:
            kill(pid)

    def output(self) -> str:
        log = self._folder / ".barnabas" / "spark.log"
        return "\n".join(path.read_text("utf-8", errors="replace")[-3000:] for path in (self._folder / "output", log) if path.exists())

    def kill(self, victim: str) -> int:
        """Returns the number of killed processes."""
        below = descendants(self._process.pid)
        self._seen |= set(below)
        # Read once for each: a process may end at any moment, and then has no command.
        commands = {pid: command_of(pid) for pid in below}
        chosen = {
            "driver": [self._process.pid],
            "jvm": [pid for pid, command in commands.items() if any(each.endswith("java") for each in command[:1])],
            "workers": [pid for pid, command in commands.items() if "pyspark.daemon" in command],
        }[victim]
        for pid in chosen:
            kill(pid)
        return len(chosen)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """From parents to children."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):
                parent = int(Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry))
    found = list(children.get(pid, ()))
    for each in found:
        found.extend(children.get(each, ()))
    return found


def await_ends(pids: Sequence[int], seconds_max: float) -> None:
    def living() -> list[Sequence[str]]:
        return [command[:3] for pid in pids if (command := command_of(pid))]

    until(lambda: not living(), "the processes end", seen=living, seconds_max=seconds_max)


def stop_in_order(command: Sequence[str], folder: Path, seconds_max: float, *, everything: bool = False) -> None:
    """Starts the command, waits for its first line, signals it and checks that it ends without an
    error.

    The signal goes to the process group as ``timeout`` sends it, or to all processes below as
    systemd does (``everything``)."""
    pipe = subprocess.PIPE
    running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=folder, start_new_session=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline(), running.communicate()
        below = descendants(running.pid)
        assert below, "there was a JVM"
        for pid in (running.pid, *(below if everything else ())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        os.killpg(running.pid, signal.SIGTERM)
        _, errors = running.communicate(timeout=seconds_max)
    finally:
        running.kill()
    assert (running.returncode, errors) == (0, "")
    await_ends(below, seconds_max)


def command_of(pid: int) -> Sequence[str]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return [part for part in Path("/proc", str(pid), "cmdline").read_text().split("\0") if part]
    return ()
