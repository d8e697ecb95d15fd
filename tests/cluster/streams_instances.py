"""Instances of ``StreamsApplication.java`` as processes, which tests kill and replace."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from peers.apache_kafka import java_program
from peers.cluster import ends_with_us
from tests.waiting import LONG_PATIENCE_SECONDS, until

APPLICATION = "streams-application"
THREADS = 2
_TAIL_CHARACTERS = 3000


class Instance:
    """``state`` is the last state of the application's life that the process told."""

    def __init__(self, bootstrap: str, directory: Path, number: int) -> None:
        self.log = directory / f"instance-{number:03}.log"
        state = directory / f"instance-{number:03}-state"
        arguments = [bootstrap, APPLICATION, str(state), str(THREADS)]
        command = java_program(Path(__file__).with_name("StreamsApplication.java"), *arguments)
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(ends_with_us(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output)
        self.state = ""
        self.failures: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, _, rest = line.decode(errors="replace").strip().partition(" ")
            if kind == "state":
                self.state = rest
            elif kind == "failure":
                self.failures.append(rest)

    def await_running(self) -> None:
        def running() -> bool:
            assert self._process.poll() is None, f"the instance ended: {self.told()}"
            return self.state == "RUNNING"

        until(running, "the instance runs", seen=self.told, seconds_max=LONG_PATIENCE_SECONDS)

    def told(self) -> str:
        return f"{self.state} {self.failures} {self.log.read_text(errors='replace')[-_TAIL_CHARACTERS:]}"

    def close(self) -> int:
        """Ends it cleanly, as an application does that leaves its group."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(LONG_PATIENCE_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Instances:
    """As many instances as asked for; a killed one is replaced at once."""

    def __init__(self, count: int, bootstrap: str, directory: Path) -> None:
        self._bootstrap = bootstrap
        self._directory = directory
        self._started = 0
        self.running = [self._start() for _ in range(count)]

    def _start(self) -> Instance:
        self._started += 1
        return Instance(self._bootstrap, self._directory, self._started)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in self.running:
            each.kill()

    def kill(self, slot: int) -> None:
        self.running[slot].kill()
        self.running[slot] = self._start()

    def told(self) -> list[str]:
        return [each.told() for each in self.running]
